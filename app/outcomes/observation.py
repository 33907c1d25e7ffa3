"""Reads raw outcome events from webhook events (pure)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from app.events import (
    Actor,
    CheckAction,
    CheckEvent,
    CommentEvent,
    Event,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushEvent,
    RepositoryEvent,
    ReviewAction,
    ReviewEvent,
)
from app.outcomes.outcome_event import APP, Details, EventKind, OutcomeEvent
from app.policy.commands import Button, Command, Verb, parse
from app.values.identifiers import IssueNumber, PullNumber

# Texts of GitHub's revert button and of `git revert`, each on a line of its own.
_REVERTS_PULL = re.compile(
    r"^Reverts (?:([\w.-]+/[\w.-]+))?#(\d{1,9})\s*$", re.ASCII | re.MULTILINE
)
_REVERTS_COMMIT = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
# The subject of a squash merge ends in the number. Merge bots write it in a trailer.
_CARRIES = re.compile(r"\A[^\n]*\(#(\d{1,9})\)[ \t]*(?:\n|\Z)", re.ASCII)
_TRAILER = re.compile(
    r"^(?:Closes|Pull Request resolved|PR-URL|Pull-Request):? ?"
    r"(?:https?://[^\s/]+/([\w.-]+/[\w.-]+)/pull/|#)(\d{1,9})\s*$",
    re.ASCII | re.MULTILINE | re.IGNORECASE,
)
_NAMED_AT_MOST = 20  # in one message, because a hostile message could name thousands

# The external id of our own check run. It tells the pull request of a pressed button.
_OUR_CHECK = re.compile(r"check:group:\d+:pull:(\d{1,9}):", re.ASCII)
_BUTTONS = {Button.AGREE.value: EventKind.AGREED, Button.DISAGREE.value: EventKind.DISAGREED}
_OPINIONS = {Verb.AGREE: EventKind.AGREED, Verb.DISAGREE: EventKind.DISAGREED}
_OF_ALTERNATIVES = {
    Verb.AGREE: EventKind.ALTERNATIVE_AGREED,
    Verb.DISAGREE: EventKind.ALTERNATIVE_DISAGREED,
}


def observe(
    event: Event, received_at: datetime, mention: str | None = None
) -> tuple[OutcomeEvent, ...]:
    """Return the raw outcome events that follow from a webhook event. Most webhook events have none.

    `received_at` is used where GitHub gives no time. `mention` is the App's name in commands. A second call for the
    same delivery gives equal events, because their `source` comes from the delivery.
    """
    return tuple(_read_outcomes(event, received_at, mention))


def _read_outcomes(
    event: Event, received_at: datetime, mention: str | None
) -> Iterator[OutcomeEvent]:
    match event:
        case PullRequestEvent():
            yield from _pull(event, received_at)
        case IssueEvent():
            yield from _issue(event, received_at)
        case CommentEvent():
            yield from _read_opinions(event, received_at, mention)
        case ReviewEvent():
            yield _review(event, received_at)
            if event.can_command:
                yield from _read_opinions(event, received_at, mention)
        case CheckEvent():
            yield from _check(event, received_at)
        case PushEvent():
            yield from _push(event, received_at)
        case _:
            return


def _pull(event: PullRequestEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    kind = _pull_kind(event)
    if kind is None:
        return
    merged = kind == EventKind.PULL_MERGED
    occurred_at = event.occurred_at or received_at
    seen = replace(
        _build_event(event, kind, event.sender, occurred_at),
        pull=event.number,
        head=event.head,
        details=Details(
            by_author=event.sender.id == event.author.id,
            base=event.base,
            commit=event.merge_commit if merged else None,
            state=event.lock_reason if kind == EventKind.PULL_LOCKED else None,
            age_seconds=_measure_age(event, kind, occurred_at),
        ),
    )
    yield seen
    if merged and event.base_ref == event.default_branch:
        text = f"{event.title}\n{event.body}"
        yield from _read_reverts(seen, event, text, reverter=f"#{event.number}")


def _measure_age(event: PullRequestEvent, kind: EventKind, occurred_at: datetime) -> float | None:
    if kind != EventKind.PULL_CLOSED or event.opened_at is None:
        return None
    return max(0.0, (occurred_at - event.opened_at).total_seconds())


def _pull_kind(event: PullRequestEvent) -> EventKind | None:
    match event.action:
        case PullAction.CLOSED:
            return EventKind.PULL_MERGED if event.merged else EventKind.PULL_CLOSED
        case PullAction.REOPENED:
            return EventKind.PULL_REOPENED
        case PullAction.OPENED:
            return EventKind.PULL_OPENED
        case PullAction.LOCKED:
            return EventKind.PULL_LOCKED
        case PullAction.SYNCHRONIZE:
            return EventKind.HEAD_MOVED
        case _:
            return None


def _issue(event: IssueEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    kinds = {
        IssueAction.CLOSED: EventKind.ISSUE_CLOSED,
        IssueAction.REOPENED: EventKind.ISSUE_REOPENED,
    }
    if event.action in kinds:
        yield replace(
            _build_event(
                event, kinds[event.action], event.sender, event.occurred_at or received_at
            ),
            issue=event.number,
            details=Details(
                by_author=event.sender.id == event.author.id,
                state=event.state_reason,
            ),
        )


def _review(event: ReviewEvent, received_at: datetime) -> OutcomeEvent:
    """Read a review. A dismissal holds the time of the dismissed review, so use the time of arrival."""
    submitted = event.action == ReviewAction.SUBMITTED
    kind = EventKind.REVIEW_SUBMITTED if submitted else EventKind.REVIEW_DISMISSED
    actor = event.author if submitted else event.sender
    occurred_at = event.occurred_at if submitted and event.occurred_at else received_at
    return replace(
        _build_event(event, kind, actor, occurred_at),
        pull=event.number,
        head=event.commit,
        details=Details(state=event.state, about=str(event.review)),
    )


def _read_opinions(
    event: CommentEvent | ReviewEvent, received_at: datetime, mention: str | None
) -> Iterator[OutcomeEvent]:
    """Read `/r4p agree` and `disagree`. A later job asks for their author's permission."""
    for place, command in enumerate(parse(event.body, mention)):
        if not isinstance(command, Command) or command.verb not in _OPINIONS:
            continue
        is_alternative = command.alternative is not None
        kind = (_OF_ALTERNATIVES if is_alternative else _OPINIONS)[command.verb]
        about = command.about if is_alternative else None
        opinion = replace(
            _build_event(event, kind, event.author, event.occurred_at or received_at),
            details=Details(state=command.reason or None, about=about),
        )
        here = PullNumber(event.number) if event.on_pull_request else None
        for pull in command.pulls or (here,):
            yield replace(
                opinion,
                source=f"{opinion.source}:{place}:{about or pull or ''}",
                pull=pull,
                issue=None if event.on_pull_request else IssueNumber(event.number),
            )


def _check(event: CheckEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    """Read a CI's conclusion. Only whole suites count, and they name only the head, because GitHub omits forks.

    The sender is the person who pushed, so the actor is the App.
    """
    yield from _read_button(event, received_at)
    if event.action == CheckAction.COMPLETED and event.is_suite and event.conclusion:
        yield replace(
            _build_event(
                event, EventKind.CI_CONCLUDED, event.sender, event.occurred_at or received_at
            ),
            actor=f"{event.app_slug}[bot]" if event.app_slug else None,
            actor_id=None,
            permission=APP,
            head=event.head,
            details=Details(
                state=event.conclusion,
                about=event.app_slug or str(event.app_id),
            ),
        )


def _read_button(event: CheckEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    """Read a pressed button of our check run, which means `/r4p agree` or `/r4p disagree`."""
    kind = _BUTTONS.get(event.button or "")
    own_check = _OUR_CHECK.match(event.external_id)
    if (
        event.action == CheckAction.REQUESTED_ACTION
        and event.is_ours
        and kind
        and own_check
        and not event.sender.is_bot
    ):
        yield replace(
            _build_event(event, kind, event.sender, received_at),
            pull=PullNumber(int(own_check[1])),
            head=event.head,
        )


def _push(event: PushEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    for commit in event.commits:
        seen = replace(
            _build_event(event, EventKind.LANDED, event.sender, received_at),
            source=f"{event.delivery}:{commit.sha}",
            head=commit.sha,
        )
        yield from _read_reverts(seen, event, commit.message, reverter=commit.sha)
        for number in _find_carried(event, commit.message):
            yield replace(seen, source=f"{seen.source}:{EventKind.LANDED}:{number}", pull=number)


def _find_carried(event: PushEvent, message: str) -> list[PullNumber]:
    subject = _CARRIES.match(message)
    numbers = {subject.group(1)} if subject else set()
    for repository, number in _TRAILER.findall(message):
        if _is_here(repository, event):
            numbers.add(number)
    return sorted(PullNumber(int(number)) for number in numbers)[:_NAMED_AT_MOST]


def _read_reverts(
    seen: OutcomeEvent, event: RepositoryEvent, text: str, *, reverter: str
) -> Iterator[OutcomeEvent]:
    """Yield one event for each pull request or commit that the text reverts."""
    revert = replace(seen, kind=EventKind.REVERTED, pull=None)
    pulls = {
        PullNumber(int(number))
        for repository, number in _REVERTS_PULL.findall(text)
        if _is_here(repository, event)
    }
    for pull in sorted(pulls)[:_NAMED_AT_MOST]:
        source = f"{seen.source}:{EventKind.REVERTED}:{pull}"
        yield replace(
            revert, source=source, pull=pull, details=replace(seen.details, reverter=reverter)
        )
    commits = sorted(set(_REVERTS_COMMIT.findall(text)))[:_NAMED_AT_MOST]
    for commit in commits:
        details = replace(seen.details, reverter=reverter, commit=commit)
        source = f"{seen.source}:{EventKind.REVERTED}:{commit}"
        yield replace(revert, source=source, details=details)


def _is_here(name: str, event: RepositoryEvent) -> bool:
    """Report whether a reference points to this repository. No name means this one; case does not matter."""
    return name.lower() in {"", event.repository.full_name.lower()}


def _build_event(
    event: RepositoryEvent, kind: EventKind, actor: Actor, occurred_at: datetime
) -> OutcomeEvent:
    return OutcomeEvent(
        kind=kind,
        source=f"{event.delivery}:{kind}",
        occurred_at=occurred_at,
        actor=actor.login,
        actor_id=actor.id,
        permission=APP if actor.is_bot else None,
    )
