"""Which raw outcome events a webhook tells of (pure)."""

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

# The wordings of GitHub's revert button and of `git revert`, each alone on its line.
_REVERTS_PULL = re.compile(
    r"^Reverts (?:([\w.-]+/[\w.-]+))?#(\d{1,9})\s*$", re.ASCII | re.MULTILINE
)
_REVERTS_COMMIT = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
# A squash merge's subject ends in the number; merge bots name it in a trailer.
_CARRIES = re.compile(r"\A[^\n]*\(#(\d{1,9})\)[ \t]*(?:\n|\Z)", re.ASCII)
_TRAILER = re.compile(
    r"^(?:Closes|Pull Request resolved|PR-URL|Pull-Request):? ?"
    r"(?:https?://[^\s/]+/([\w.-]+/[\w.-]+)/pull/|#)(\d{1,9})\s*$",
    re.ASCII | re.MULTILINE | re.IGNORECASE,
)
_NAMED_AT_MOST = 20  # of one message; a hostile one could name thousands


# The external id of our own check run, by which a button knows its pull request.
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
    """What the event adds to the record; nothing for most events.

    `received_at` stands in where GitHub gives no time; `mention` is the App's name in commands.
    Sources are derived from the delivery, so observing it twice gives equal events.
    """
    return tuple(_told(event, received_at, mention))


def _told(event: Event, received_at: datetime, mention: str | None) -> Iterator[OutcomeEvent]:
    match event:
        case PullRequestEvent():
            yield from _pull(event, received_at)
        case IssueEvent():
            yield from _issue(event, received_at)
        case CommentEvent():
            yield from _opinions(event, received_at, mention)
        case ReviewEvent():
            yield _review(event, received_at)
            if event.may_command:
                yield from _opinions(event, received_at, mention)
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
    seen = replace(
        _observed(event, kind, event.sender, event.at or received_at),
        pull=event.number,
        head=event.head,
        details=Details(
            by_author=event.sender.id == event.author.id,
            base=event.base,
            commit=event.merge_commit if merged else None,
        ),
    )
    yield seen
    if merged and event.base_ref == event.default_branch:
        text = f"{event.title}\n{event.body}"
        yield from _reverts(seen, event, text, by=f"#{event.number}")


def _pull_kind(event: PullRequestEvent) -> EventKind | None:
    match event.action:
        case PullAction.CLOSED:
            return EventKind.PULL_MERGED if event.merged else EventKind.PULL_CLOSED
        case PullAction.REOPENED:
            return EventKind.PULL_REOPENED
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
            _observed(event, kinds[event.action], event.sender, event.at or received_at),
            issue=event.number,
            details=Details(
                by_author=event.sender.id == event.author.id,
                state=event.state_reason,
            ),
        )


def _review(event: ReviewEvent, received_at: datetime) -> OutcomeEvent:
    """A dismissal carries the time of the review it takes back, so its own is when it arrived."""
    submitted = event.action == ReviewAction.SUBMITTED
    kind = EventKind.REVIEW_SUBMITTED if submitted else EventKind.REVIEW_DISMISSED
    actor = event.author if submitted else event.sender
    at = event.at if submitted and event.at else received_at
    return replace(
        _observed(event, kind, actor, at),
        pull=event.number,
        head=event.commit,
        details=Details(state=event.state, about=str(event.review)),
    )


def _opinions(
    event: CommentEvent | ReviewEvent, received_at: datetime, mention: str | None
) -> Iterator[OutcomeEvent]:
    """`/r4p agree` and `disagree`; whether their author may give them is found out later."""
    for place, command in enumerate(parse(event.body, mention)):
        if not isinstance(command, Command) or command.verb not in _OPINIONS:
            continue
        ours = command.alternative is not None
        kind = (_OF_ALTERNATIVES if ours else _OPINIONS)[command.verb]
        about = command.about if ours else None
        said = replace(
            _observed(event, kind, event.author, event.at or received_at),
            details=Details(state=command.reason or None, about=about),
        )
        here = PullNumber(event.number) if event.on_pull_request else None
        for pull in command.pulls or (here,):
            yield replace(
                said,
                source=f"{said.source}:{place}:{about or pull or ''}",
                pull=pull,
                issue=None if event.on_pull_request else IssueNumber(event.number),
            )


def _check(event: CheckEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    """Only whole suites count as CI, and they name only the head: forks' pull requests aren't listed.

    The sender is whoever made the App run, often by a push; it is the App that concludes.
    """
    yield from _pressed(event, received_at)
    if event.action == CheckAction.COMPLETED and event.is_suite and event.conclusion:
        yield replace(
            _observed(event, EventKind.CI_CONCLUDED, event.sender, event.at or received_at),
            actor=f"{event.app_slug}[bot]" if event.app_slug else None,
            actor_id=None,
            permission=APP,
            head=event.head,
            details=Details(
                state=event.conclusion,
                about=event.app_slug or str(event.app_id),
            ),
        )


def _pressed(event: CheckEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    """Our check run's buttons for right and wrong say what `/r4p agree` and `disagree` say."""
    kind = _BUTTONS.get(event.button or "")
    ours = _OUR_CHECK.match(event.external_id)
    if event.action == CheckAction.REQUESTED_ACTION and kind and ours and not event.sender.is_bot:
        yield replace(
            _observed(event, kind, event.sender, received_at),
            pull=PullNumber(int(ours[1])),
            head=event.head,
        )


def _push(event: PushEvent, received_at: datetime) -> Iterator[OutcomeEvent]:
    for commit in event.commits:
        seen = replace(
            _observed(event, EventKind.LANDED, event.sender, received_at),
            source=f"{event.delivery}:{commit.sha}",
            head=commit.sha,
        )
        yield from _reverts(seen, event, commit.message, by=commit.sha)
        for number in _carried(event, commit.message):
            yield replace(seen, source=f"{seen.source}:{EventKind.LANDED}:{number}", pull=number)


def _carried(event: PushEvent, message: str) -> list[PullNumber]:
    subject = _CARRIES.match(message)
    named = {subject.group(1)} if subject else set()
    for repository, number in _TRAILER.findall(message):
        if _is_here(repository, event):
            named.add(number)
    return sorted(PullNumber(int(number)) for number in named)[:_NAMED_AT_MOST]


def _reverts(
    seen: OutcomeEvent, event: RepositoryEvent, text: str, *, by: str
) -> Iterator[OutcomeEvent]:
    """One event for each pull request or commit that `text` says it takes back."""
    revert = replace(seen, kind=EventKind.REVERTED, pull=None)
    pulls = {
        PullNumber(int(number))
        for repository, number in _REVERTS_PULL.findall(text)
        if _is_here(repository, event)
    }
    for pull in sorted(pulls)[:_NAMED_AT_MOST]:
        source = f"{seen.source}:{EventKind.REVERTED}:{pull}"
        yield replace(revert, source=source, pull=pull, details=replace(seen.details, by=by))
    commits = sorted(set(_REVERTS_COMMIT.findall(text)))[:_NAMED_AT_MOST]
    for commit in commits:
        details = replace(seen.details, by=by, commit=commit)
        source = f"{seen.source}:{EventKind.REVERTED}:{commit}"
        yield replace(revert, source=source, details=details)


def _is_here(named: str, event: RepositoryEvent) -> bool:
    """A number without a repository is of this one; GitHub's names ignore case."""
    return named.lower() in {"", event.repository.full_name.lower()}


def _observed(
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
