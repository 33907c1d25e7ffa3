"""Frozen snapshots of the simulated GitHub, which the methods of `StandIn` and `Repo` return."""

from dataclasses import dataclass
from typing import Any, Self

from tests.github.clock import timestamp
from tests.github.objects import checks
from tests.github.world.deliveries import Delivery
from tests.github.world.http_values import ApiError
from tests.github.world.sign_ins import get_client_secret
from tests.github.world.state import AppRecord, CheckRun, Comment, Issue, Repository
from tests.github.world.world import World


@dataclass(frozen=True, slots=True)
class App:
    """A registered App with the values that a bot needs to act as this App."""

    app_id: int
    private_key: str
    slug: str
    bot_login: str
    bot_id: int
    client_id: str
    client_secret: str
    hook_id: int

    @classmethod
    def of_record(cls, app: AppRecord) -> Self:
        """Copy an App's record."""
        return cls(
            app_id=app.id,
            private_key=app.private_key,
            slug=app.slug,
            bot_login=app.bot.login,
            bot_id=app.bot.id,
            client_id=app.client_id,
            client_secret=get_client_secret(app),
            hook_id=app.hook_id,
        )


@dataclass(frozen=True, slots=True)
class PullFacts:
    """The state of a pull request."""

    number: int
    head_sha: str
    base_sha: str
    head_ref: str
    base_ref: str
    state: str
    merged: bool
    draft: bool
    labels: tuple[str, ...]

    @classmethod
    def of_record(cls, issue: Issue) -> Self:
        """Copy a pull request's record; ApiError if `issue` is not a pull request."""
        pull = issue.pull
        if pull is None:
            raise ApiError(404, f"#{issue.number} is an issue, not a pull request")
        return cls(
            number=issue.number,
            head_sha=pull.head_sha,
            base_sha=pull.base_sha,
            head_ref=pull.head_ref,
            base_ref=pull.base_ref,
            state=issue.state,
            merged=pull.merged_at is not None,
            draft=pull.draft,
            labels=tuple(issue.labels),
        )


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """The state of an issue, or of the issue part of a pull request."""

    number: int
    title: str
    body: str
    state: str
    author: str

    @classmethod
    def of_record(cls, issue: Issue) -> Self:
        """Copy an issue's record."""
        return cls(issue.number, issue.title, issue.body, issue.state, issue.author.login)


@dataclass(frozen=True, slots=True)
class CommentFacts:
    """A comment; `reactions` are pairs of content and login."""

    id: int
    body: str
    author: str
    created_at: str
    updated_at: str
    reactions: tuple[tuple[str, str], ...]

    @classmethod
    def of_record(cls, comment: Comment) -> Self:
        """Copy a comment's record."""
        return cls(
            id=comment.id,
            body=comment.body,
            author=comment.author.login,
            created_at=timestamp(comment.created_at),
            updated_at=timestamp(comment.updated_at),
            reactions=tuple((r.content, r.user.login) for r in comment.reactions),
        )


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """A check run; `app` is the slug of the App that created it."""

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

    @classmethod
    def of_record(cls, world: World, repo: Repository, run: CheckRun) -> Self:
        """Copy a check run's record, with the defaults that the REST API fills in."""
        shown = checks.check_run(world, repo, run)
        plain = ("id", "name", "head_sha", "status", "conclusion", "details_url", "external_id")
        return cls(
            **{name: shown[name] for name in plain},
            **{name: shown["output"][name] for name in ("title", "summary", "text")},
            app=run.app_slug,
            buttons=dict(run.actions),
        )


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """An attempt at a webhook delivery; `status_code` is 0 without an answer."""

    id: int
    guid: str
    event: str
    action: str | None
    status: str
    status_code: int
    redelivery: bool
    installation_id: int | None
    payload: dict[str, Any]

    @classmethod
    def of_record(cls, delivery: Delivery) -> Self:
        """Copy a delivery's record."""
        return cls(**{name: getattr(delivery, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Calls:
    """The number of calls of each `METHOD /route`; token requests are counted apart."""

    operations: dict[str, int]
    tokens: int

    @property
    def total(self) -> int:
        """The number of all calls except token requests."""
        return sum(self.operations.values())


@dataclass(frozen=True, slots=True)
class Meter:
    """The rate limits' counts for one client."""

    content_last_hour: int
    requests_while_blocked: int
    refused: int
