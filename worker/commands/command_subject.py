"""The subject of a command, its result, and the agent that replies name."""

from dataclasses import dataclass

from app.values.identifiers import CommandSource, DeliveryGuid, IssueNumber, RepositoryRef


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of one command."""

    text: str = ""
    """The reply; empty when the reaction is enough."""
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class Subject:
    """The issue of a command, and the place where the command was written."""

    repository: RepositoryRef
    issue: IssueNumber
    asked_in: CommandSource
    asked_under: int
    """The issue or pull request that holds the comment."""
    delivery: DeliveryGuid
    author: str
    """The login of the command's author."""


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """The name of the agent and its model, for replies."""

    agent: str
    model: str | None
    """None when the engine has only one model."""
