"""Verified webhook bytes become an event, or the reason why they are ignored (pure).

What follows from an event is decided in `app.policy.event_policy`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from app.events.apps import check_run, check_suite, installation, installation_repositories
from app.events.contributions import comment, issue, pull_request, push, review
from app.events.delivery_source import NAME_LIMIT, Source
from app.events.event import (
    CheckAction,
    Event,
    Ignored,
    InstallationAction,
    IssueAction,
    PullAction,
    ReviewAction,
)
from app.events.payload import UnreadableError, clean, read
from app.values.identifiers import DeliveryGuid


def parse(
    event: str, delivery: DeliveryGuid, body: bytes, *, own_app: int | None = None
) -> Event | Ignored:
    """The event that `body` tells of, whatever a stranger wrote into it; never raises.

    `event` is the `X-GitHub-Event` header and `own_app` our App's id, by which our own check
    runs are known. Edited comments never count: who approved the first text didn't see the second.
    """
    try:
        payload = read(body)
        action = payload.maybe_text("action", NAME_LIMIT) or ""
        reader = _READERS.get(event)
        if reader is None or action not in reader.actions:
            return Ignored(_not_handled(event, action))
        return reader.build(Source(delivery, payload, action, own_app))
    except UnreadableError as error:
        return Ignored(f"unreadable: {error}")


def _not_handled(event: str, action: str) -> str:
    if event == "issue_comment" and action in {"edited", "deleted"}:
        return "only newly created comments command"
    name = clean(f"{event}.{action}" if action else event, NAME_LIMIT)
    return "not handled: " + "".join(c if c.isprintable() else "?" for c in name)


@dataclass(frozen=True, slots=True)
class _Reader:
    build: Callable[[Source], Event | Ignored]
    actions: frozenset[str]


_READERS: Mapping[str, _Reader] = {
    "pull_request": _Reader(pull_request, frozenset(PullAction)),
    "issues": _Reader(issue, frozenset(IssueAction)),
    "issue_comment": _Reader(comment, frozenset({"created"})),
    "pull_request_review": _Reader(review, frozenset(ReviewAction)),
    "check_suite": _Reader(check_suite, frozenset({"completed", "rerequested"})),
    "check_run": _Reader(check_run, frozenset(CheckAction)),
    "push": _Reader(push, frozenset({""})),
    "installation": _Reader(installation, frozenset(InstallationAction)),
    "installation_repositories": _Reader(
        installation_repositories, frozenset({"added", "removed"})
    ),
}
HANDLED_EVENTS: Final = tuple(_READERS)
"""The `X-GitHub-Event` names that the bot reads."""
