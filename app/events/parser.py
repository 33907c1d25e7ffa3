"""Turns verified webhook bytes into an event, or into the reason to ignore them (pure).

`app.policy.event_policy` decides which jobs follow from an event.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from app.events.apps import (
    read_check_run,
    read_check_suite,
    read_installation,
    read_installation_repositories,
)
from app.events.contributions import (
    read_comment,
    read_issue,
    read_pull_request,
    read_push,
    read_review,
)
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
from app.events.payload import UnreadableError, clean_text, read_payload
from app.values.identifiers import DeliveryGuid


def parse(
    event: str, delivery: DeliveryGuid, body: bytes, *, own_app: int | None = None
) -> Event | Ignored:
    """Return the event in a webhook delivery, or Ignored with the reason. Never raises, whatever a stranger wrote.

    `event` is the header `X-GitHub-Event`. `own_app` is our App's id, by which the parser ignores our own check runs.
    The bot ignores edited comments, because people may have agreed with the first text only.
    """
    try:
        payload = read_payload(body)
        action = payload.find_text("action", NAME_LIMIT) or ""
        reader = _READERS.get(event)
        if reader is None or action not in reader.actions:
            return Ignored(_explain_ignored(event, action))
        return reader.build(Source(delivery, payload, action, own_app))
    except UnreadableError as error:
        return Ignored(f"unreadable: {error}")


def _explain_ignored(event: str, action: str) -> str:
    if event == "issue_comment" and action in {"edited", "deleted"}:
        return "only newly created comments command"
    name = clean_text(f"{event}.{action}" if action else event, NAME_LIMIT)
    return "not handled: " + "".join(c if c.isprintable() else "?" for c in name)


@dataclass(frozen=True, slots=True)
class _Reader:
    build: Callable[[Source], Event | Ignored]
    actions: frozenset[str]


_READERS: Mapping[str, _Reader] = {
    "pull_request": _Reader(read_pull_request, frozenset(PullAction)),
    "issues": _Reader(read_issue, frozenset(IssueAction)),
    "issue_comment": _Reader(read_comment, frozenset({"created"})),
    "pull_request_review": _Reader(read_review, frozenset(ReviewAction)),
    "check_suite": _Reader(read_check_suite, frozenset({"completed", "rerequested"})),
    "check_run": _Reader(read_check_run, frozenset(CheckAction)),
    "push": _Reader(read_push, frozenset({""})),
    "installation": _Reader(read_installation, frozenset(InstallationAction)),
    "installation_repositories": _Reader(
        read_installation_repositories, frozenset({"added", "removed"})
    ),
}
HANDLED_EVENTS: Final = tuple(_READERS)
"""Values of `X-GitHub-Event` that the bot reads."""
