"""Define the subject and the result of a `/r4p` command, and the agent that replies name."""

from dataclasses import dataclass

from app.values.identifiers import CommandSource, DeliveryGuid, IssueNumber, RepositoryRef


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Whether a `/r4p` command was carried out, and the reply to write."""

    text: str = ""
    """The reply in Markdown; empty when the reaction (👍 or 😕) is enough."""
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class Subject:
    """The issue that a `/r4p` command is about, and the comment that contains the command."""

    repository: RepositoryRef
    issue: IssueNumber
    asked_in: CommandSource
    asked_under: int
    """Number of the issue or pull request that holds the comment."""
    delivery: DeliveryGuid
    author: str
    """The login of the command's author."""


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """The names of the agent and of its language model, as replies to commands show them."""

    agent: str
    model: str | None
    """None when the engine has only one model."""
