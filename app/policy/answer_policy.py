"""Decides whether the bot answers a comment with `/r4p` commands, so that strangers cannot spend its writes (pure).

The rules are the same for comments and for reviews.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from app.values.permission import Permission

ANSWERS_AN_HOUR: Final = 3
"""Comments of one person in one repository that the bot answers within an hour, below triage permission."""
ANSWER_WINDOW: Final = timedelta(hours=1)
SILENCE_WINDOW: Final = timedelta(minutes=5)
"""After a comment without an answer, the bot ignores the person for this time and asks GitHub for no permission."""


class SilenceReason(StrEnum):
    """Why the bot gives no answer, as the metric of ignored deliveries counts it."""

    CAPPED = "commands of a person who has used up the answers of this hour"
    ALREADY_REFUSED = "commands of a person who was told of the missing permission before"
    LOCKED = "commands in a conversation that takes no reply"


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """What the bot answered to other comments of one person in one repository."""

    answers: int = 0
    """Comments that the bot answered within the last hour."""
    was_refused: bool = False
    """True if the bot has told the person on this issue or pull request that a command needs more permission."""
    was_silent: bool = False
    """True if the bot left a comment of the person without an answer within `SILENCE_WINDOW`."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A comment with commands: its author's permission, which kinds of commands it holds, and where it stands."""

    permission: Permission
    """The author's permission, read from GitHub's API."""
    has_refused_command: bool
    """True if a command needs more permission than the author has."""
    has_other_commands: bool
    """True if the comment holds an allowed command, or a line that is no valid command."""
    is_locked: bool
    """True if only members may write in the conversation."""
    is_delegate: bool = False
    """True if somebody lets the author use commands on this issue."""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """The decision what the bot does about a comment with commands."""

    carries_out: bool
    """True if the bot carries out the allowed commands."""
    tells_refusal: bool
    """True if the bot's reply names the commands that need more permission."""
    silence: SilenceReason | None = None
    """Why the bot writes neither a reply nor a reaction; None: it may write both."""


def is_exempt(permission: Permission) -> bool:
    """Return whether the bot answers every comment of a person with this permission."""
    return permission.rank >= Permission.TRIAGE.rank


def plan_answer(history: AnswerHistory, request: CommandRequest) -> AnswerPlan:
    """Decide what the bot does about a comment with commands.

    A person below triage permission gets `ANSWERS_AN_HOUR` answers. Nobody is refused twice on one issue.
    """
    if (
        not (is_exempt(request.permission) or request.is_delegate)
        and history.answers >= ANSWERS_AN_HOUR
    ):
        return AnswerPlan(carries_out=False, tells_refusal=False, silence=SilenceReason.CAPPED)
    if request.is_locked:
        return AnswerPlan(
            carries_out=request.has_other_commands,
            tells_refusal=False,
            silence=SilenceReason.LOCKED,
        )
    tells = request.has_refused_command and not history.was_refused
    silence = None if tells or request.has_other_commands else SilenceReason.ALREADY_REFUSED
    return AnswerPlan(carries_out=request.has_other_commands, tells_refusal=tells, silence=silence)
