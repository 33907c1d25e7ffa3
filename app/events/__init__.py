"""Webhook deliveries as events (pure). In: verified bytes. Out: one frozen event, or the reason to ignore it.
May call: values.
"""

from app.events.contributions import CONFIG_PATHS
from app.events.event import (
    GHOST,
    Actor,
    BaseChange,
    CheckAction,
    CheckEvent,
    CommentEvent,
    Event,
    Ignored,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    InstalledRepository,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushedCommit,
    PushEvent,
    RepositoryEvent,
    ReviewAction,
    ReviewEvent,
)
from app.events.parser import parse

__all__ = [
    "CONFIG_PATHS",
    "GHOST",
    "Actor",
    "BaseChange",
    "CheckAction",
    "CheckEvent",
    "CommentEvent",
    "Event",
    "Ignored",
    "InstallationAction",
    "InstallationEvent",
    "InstallationRepositoriesEvent",
    "InstalledRepository",
    "IssueAction",
    "IssueEvent",
    "PullAction",
    "PullRequestEvent",
    "PushEvent",
    "PushedCommit",
    "RepositoryEvent",
    "ReviewAction",
    "ReviewEvent",
    "parse",
]
