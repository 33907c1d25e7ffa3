"""Every "should we?": which jobs follow from an event, and whether a group is judged now (pure)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from app.events import (
    CheckAction,
    CheckEvent,
    CommentEvent,
    Event,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushEvent,
    ReviewEvent,
)
from app.jobs.job import (
    EvaluateIssue,
    Job,
    LocateIssues,
    Planned,
    PurgeData,
    RecordEvent,
    RefreshConfig,
    RunCommand,
)
from app.policy.commands import Button, may_command
from app.policy.rival_links import closing_numbers
from app.values.identifiers import IssueNumber

MAX_ISSUES = 10
"""Issues one event makes us look at: a stranger may write `fixes #1 fixes #2 …` for pages."""

BY_COMMAND = "command"
"""The trigger of an evaluation that a person with the right to it asked for."""


_BEGINS = frozenset(
    {
        InstallationAction.CREATED,
        InstallationAction.UNSUSPEND,
        InstallationAction.NEW_PERMISSIONS_ACCEPTED,
    }
)
"""After these we may see repositories that we didn't."""


def jobs_for(event: Event, mention: str | None = None) -> tuple[Job, ...]:
    """What the web process stores for an event; it asks no GitHub and parses no Markdown.

    `mention` is the App's name, which people may address instead of writing `/r4p`.
    """
    recorded = RecordEvent(event.installation, event.delivery)
    return (recorded, *_beside_the_record(event, mention))


def _beside_the_record(event: Event, mention: str | None) -> Iterable[Job]:
    match event:
        case CommentEvent() | ReviewEvent(may_command=True) if may_command(event.body, mention):
            return [_run_command(event)]
        case InstallationEvent(action=InstallationAction.DELETED):
            return [PurgeData(event.installation, None)]
        case InstallationRepositoriesEvent():
            return [PurgeData(event.installation, gone.id) for gone in event.removed]
        case _:
            return []


def _run_command(event: CommentEvent | ReviewEvent) -> RunCommand:
    return RunCommand(
        installation=event.installation,
        repository=event.repository.id,
        number=event.number,
        asked_in=event.asked_in,
        delivery=event.delivery,
    )


@dataclass(frozen=True, slots=True)
class KnownLinks:
    """What is stored about the subject of an event."""

    issues: frozenset[IssueNumber] = frozenset()
    """Issues in whose groups the pull request is; for an issue's event that issue, if it has a group;
    for a check those of the pull requests at that commit."""
    promised: tuple[IssueNumber, ...] = ()
    """What `promised_issues` read."""
    quiet_seconds: float = 0
    """How long the repository wants nothing to have changed before we look."""


def promised_issues(event: Event, host: str = "github.com") -> tuple[IssueNumber, ...]:
    """Issues that a pull request's title and description promise to close, each once.

    Reading takes up to a second for a hostile text: do it before a transaction opens.
    """
    if not isinstance(event, PullRequestEvent):
        return ()
    text = f"{event.title}\n\n{event.body}"
    return closing_numbers(text, event.repository.full_name, host)


def follow_ups(event: Event, known: KnownLinks) -> tuple[Planned, ...]:
    """What the worker does after an event was recorded: which issues it looks at again."""
    match event:
        case PullRequestEvent():
            return _after_pull_request(event, known)
        case IssueEvent(action=IssueAction.EDITED | IssueAction.CLOSED | IssueAction.REOPENED):
            return _look_again(event, known.issues, "issue", known.quiet_seconds)
        case CheckEvent() if _asks_again(event):
            # GitHub offers this only to those who may write.
            return _look_again(event, known.issues, BY_COMMAND)
        case PushEvent(config_touched=True):
            return (Planned(RefreshConfig(event.installation, event.repository.id)),)
        case InstallationEvent() | InstallationRepositoriesEvent():
            return _after_installation(event)
        case _:
            return ()


def _after_installation(
    event: InstallationEvent | InstallationRepositoriesEvent,
) -> tuple[Planned, ...]:
    """Read the configuration of every repository we may see from now on."""
    match event:
        case InstallationRepositoriesEvent():
            new = event.added
        case InstallationEvent() if event.action in _BEGINS:
            new = event.repositories
        case _:
            new = ()
    return tuple(Planned(RefreshConfig(event.installation, repository.id)) for repository in new)


def _after_pull_request(event: PullRequestEvent, known: KnownLinks) -> tuple[Planned, ...]:
    issues = dict.fromkeys([*sorted(known.issues), *known.promised])
    moved = event.action is PullAction.SYNCHRONIZE
    if issues:
        trigger = "moved_head" if moved else "pull_request"
        return _look_again(event, issues, trigger, known.quiet_seconds)
    if event.action is PullAction.CLOSED:
        return ()  # it can't become a rival any more
    locate = LocateIssues(event.installation, event.repository.id, event.number)
    return (Planned(locate),)


def _asks_again(event: CheckEvent) -> bool:
    if event.sender.is_bot:
        return False
    pressed = event.action is CheckAction.REQUESTED_ACTION and event.button == Button.VERIFY
    return pressed or event.action is CheckAction.REREQUESTED


def _look_again(
    event: PullRequestEvent | IssueEvent | CheckEvent,
    issues: Collection[IssueNumber],
    trigger: str,
    after_seconds: float = 0,
) -> tuple[Planned, ...]:
    repository = event.repository
    return tuple(
        Planned(
            EvaluateIssue(repository.installation, repository.id, issue, trigger),
            after_seconds,
            BY_COMMAND if trigger == BY_COMMAND else "",
        )
        for issue in list(issues)[:MAX_ISSUES]
    )
