"""Decides which jobs follow from a webhook event (pure)."""

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
    InstalledRepository,
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
from app.policy.commands import Button, can_hold_command
from app.policy.rival_links import find_closing_numbers
from app.values.identifiers import InstallationId, IssueNumber

MAX_ISSUES = 10
"""Most issues that one event can start. A stranger could write `fixes #1 fixes #2 …` for pages."""

NOT_ALLOWED = "the account is not in R4P_ALLOWED_ACCOUNTS"
"""Reason under which the deliveries of other accounts are counted."""

BY_COMMAND = "command"
"""Trigger of an evaluation that a person with the right asked for."""
BY_APPROVAL = "approval"
"""Trigger of an evaluation after `/r4p ok`. It obeys the settings like a change of a pull request."""


_BEGINS = frozenset(
    {
        InstallationAction.CREATED,
        InstallationAction.UNSUSPEND,
        InstallationAction.NEW_PERMISSIONS_ACCEPTED,
    }
)
"""Actions after which the bot may see new repositories."""


def plan_jobs(event: Event, mention: str | None = None) -> tuple[Job, ...]:
    """Return the jobs that the web process stores for an event. It calls no API and parses no Markdown.

    `mention` is the App's name, which people may write instead of `/r4p`.
    """
    record = RecordEvent(event.installation, event.delivery)
    return (record, *_plan_beside_record(event, mention))


def _plan_beside_record(event: Event, mention: str | None) -> Iterable[Job]:
    match event:
        case CommentEvent() | ReviewEvent(can_command=True) if can_hold_command(
            event.body, mention
        ):
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
        asked_in=event.command_source,
        delivery=event.delivery,
    )


@dataclass(frozen=True, slots=True)
class StoredLinks:
    """Issues that a webhook event concerns, and the quiet time in seconds before their evaluation."""

    issues: frozenset[IssueNumber] = frozenset()
    """Issues whose groups hold the pull request. For an issue's event: that issue if it has a group. For a check: the
    issues of the pull requests at its commit."""
    closing_issues: tuple[IssueNumber, ...] = ()
    """Issues that the pull request promises to close: the result of `find_closing_issues`."""
    quiet_seconds: float = 0
    """Seconds without changes that the repository wants before the bot starts."""


def find_closing_issues(event: Event, host: str = "github.com") -> tuple[IssueNumber, ...]:
    """Return the numbers of the issues that a pull request's title and description promise to close, each once.

    Other events promise none. `host` is GitHub's host in links. A hostile text can take a second, so call it before a
    transaction opens.
    """
    if not isinstance(event, PullRequestEvent):
        return ()
    text = f"{event.title}\n\n{event.body}"
    return find_closing_numbers(text, event.repository.full_name, host)


def plan_follow_ups(event: Event, links: StoredLinks) -> tuple[Planned, ...]:
    """Return the jobs that follow from a webhook event after the worker recorded it.

    `links` holds the issues that the event concerns, and the quiet time before the bot judges them.
    """
    match event:
        case PullRequestEvent():
            return _plan_after_pull_request(event, links)
        case IssueEvent(action=IssueAction.EDITED | IssueAction.CLOSED | IssueAction.REOPENED):
            return _look_again(event, links.issues, "issue", links.quiet_seconds)
        case CheckEvent() if _asks_again(event):
            # GitHub shows these buttons only to accounts with write access.
            return _look_again(event, links.issues, BY_COMMAND)
        case PushEvent(config_touched=True):
            return (Planned(RefreshConfig(event.installation, event.repository.id)),)
        case InstallationEvent() | InstallationRepositoriesEvent():
            return _plan_after_installation(event)
        case _:
            return ()


def _plan_after_installation(
    event: InstallationEvent | InstallationRepositoriesEvent,
) -> tuple[Planned, ...]:
    """Plan to read the configuration of every newly visible repository."""
    new = list_new_repositories(event)
    return tuple(Planned(RefreshConfig(event.installation, repository.id)) for repository in new)


def list_new_repositories(event: Event) -> tuple[InstalledRepository, ...]:
    """Return the repositories that the bot may see for the first time after a webhook event."""
    match event:
        case InstallationRepositoriesEvent():
            return event.added
        case InstallationEvent() if event.action in _BEGINS:
            return event.repositories
        case _:
            return ()


def _plan_after_pull_request(event: PullRequestEvent, links: StoredLinks) -> tuple[Planned, ...]:
    if event.action is PullAction.LOCKED:
        return ()  # a lock changes no patch and no link
    issues = dict.fromkeys([*sorted(links.issues), *links.closing_issues])
    moved = event.action is PullAction.SYNCHRONIZE
    if issues:
        trigger = "moved_head" if moved else "pull_request"
        return _look_again(event, issues, trigger, links.quiet_seconds)
    if event.action is PullAction.CLOSED:
        return ()  # a closed pull request can't become a rival
    locate = LocateIssues(event.installation, event.repository.id, event.number)
    return (Planned(locate),)


def _asks_again(event: CheckEvent) -> bool:
    """Return whether a person pressed a button of our own check. Buttons of another App are not orders to this bot."""
    if event.sender.is_bot or not event.is_ours:
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


def is_allowed(event: Event, accounts: Collection[str]) -> bool:
    """Return whether the bot acts on an event.

    `accounts` holds logins of owners, without regard to case, and ids of installations. Empty: all are allowed. The end
    of an installation and the removal of repositories are always allowed, because stored data must then go.
    """
    return _is_only_removal(event) or is_served(accounts, _find_owner(event), event.installation)


def is_served(accounts: Collection[str], owner: str, installation: InstallationId) -> bool:
    """Return whether `accounts`, as in `is_allowed`, names the owner's login or the installation's id."""
    allowed = {account.lower() for account in accounts}
    return not allowed or owner.lower() in allowed or str(installation) in allowed


def _is_only_removal(event: Event) -> bool:
    if isinstance(event, InstallationEvent):
        return event.action is InstallationAction.DELETED
    return isinstance(event, InstallationRepositoriesEvent) and not event.added


def _find_owner(event: Event) -> str:
    if isinstance(event, InstallationEvent | InstallationRepositoriesEvent):
        return event.account
    return event.repository.full_name.partition("/")[0]
