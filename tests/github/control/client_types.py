"""The small frozen values the control client returns."""

from dataclasses import dataclass
from typing import Any


class StandInError(Exception):
    """The stand-in refused a command or did not start; the message says why."""


@dataclass(frozen=True, slots=True)
class App:
    """A registered App with what a bot needs to act as it."""

    app_id: int
    private_key: str
    slug: str
    bot_login: str
    bot_id: int
    client_id: str
    hook_id: int


@dataclass(frozen=True, slots=True)
class PullFacts:
    """A pull request as it stands."""

    number: int
    head_sha: str
    base_sha: str
    head_ref: str
    base_ref: str
    state: str
    merged: bool
    draft: bool


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """An issue (or the issue side of a pull request) as it stands."""

    number: int
    title: str
    body: str
    state: str
    author: str


@dataclass(frozen=True, slots=True)
class CommentFacts:
    """A comment; `reactions` are (content, login) pairs."""

    id: int
    body: str
    author: str
    created_at: str
    updated_at: str
    reactions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """A check run; `app` is the slug of the App that made it."""

    id: int
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    title: str | None
    summary: str | None
    text: str | None
    details_url: str
    external_id: str
    app: str
    buttons: dict[str, str]
    """Labels by identifier."""


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """One attempt at a webhook delivery; `status_code` is 0 if nothing answered (yet)."""

    id: int
    guid: str
    event: str
    action: str | None
    status: str
    status_code: int
    redelivery: bool
    installation_id: int | None
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of GitHub's that the bot or the stand-in broke."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """One request the stand-in answered; status 0 means a fault swallowed the answer."""

    method: str
    route: str
    status: int
    at: float
    installation: int | None
    conditional: bool


@dataclass(frozen=True, slots=True)
class Calls:
    """How often each `METHOD /route` was called, token requests apart."""

    operations: dict[str, int]
    tokens: int

    @property
    def total(self) -> int:
        """All calls but those for tokens."""
        return sum(self.operations.values())


@dataclass(frozen=True, slots=True)
class Meter:
    """What the rate limits saw of one client."""

    content_last_hour: int
    requests_while_blocked: int
    refused: int


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """A repository just made."""

    id: int
    full_name: str
    sha: str
