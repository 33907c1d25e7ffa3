from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.events import (
    Actor,
    CheckAction,
    CommentEvent,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    InstalledRepository,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushEvent,
    ReviewAction,
)
from app.jobs.job import (
    EvaluateIssue,
    LocateIssues,
    Planned,
    PurgeData,
    RecordEvent,
    RefreshConfig,
    RunCommand,
)
from app.policy.commands import Button
from app.policy.event_policy import (
    MAX_ISSUES,
    StoredLinks,
    find_closing_issues,
    plan_follow_ups,
    plan_jobs,
)
from tests.builders.github.webhook_payloads import (
    CAT,
    MONA,
    SHA,
    build_check_event,
    build_review_event,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOT = Actor(9, "helper[bot]", is_bot=True)
COMMON = {"delivery": "guid", "repository": CAT, "sender": MONA}
RECORD = RecordEvent(7, "guid")
NOBODY = StoredLinks()


def pull(action=PullAction.OPENED, body="", title="Handle empty input"):
    return PullRequestEvent(
        **COMMON,
        action=action,
        number=12,
        title=title,
        body=body,
        author=MONA,
        draft=False,
        merged=False,
        merge_commit=None,
        head=SHA,
        base=SHA,
        base_ref="main",
        default_branch="main",
        before=None,
        base_before=None,
        occurred_at=NOON,
    )


def issue(action):
    return IssueEvent(
        **COMMON,
        action=action,
        number=3,
        title="Crash",
        body="",
        author=MONA,
        state_reason=None,
        occurred_at=NOON,
    )


def comment(body):
    return CommentEvent(
        **COMMON,
        number=3,
        on_pull_request=False,
        comment=900,
        body=body,
        author=MONA,
        association="NONE",
        occurred_at=NOON,
    )


def check(action, button=None, sender=MONA):
    return build_check_event(action=action, button=button, sender=sender)


def push(*, config_touched):
    return PushEvent(
        **COMMON, before=SHA, after=SHA, forced=False, commits=(), config_touched=config_touched
    )


def review(body="", action=ReviewAction.SUBMITTED, sender=MONA):
    return build_review_event(body=body, action=action, sender=sender)


def installation(action, *repositories):
    return InstallationEvent(
        delivery="guid",
        installation=7,
        account="octo",
        account_id=1,
        sender=MONA,
        action=action,
        repositories=repositories,
    )


MOVED = InstallationRepositoriesEvent(
    delivery="guid",
    installation=7,
    account="octo",
    account_id=1,
    sender=MONA,
    added=(InstalledRepository(71, "octo/dog"),),
    removed=(InstalledRepository(72, "octo/bird"),),
)


@pytest.mark.parametrize(
    ("event", "more"),
    [
        (pull(), ()),
        (issue(IssueAction.OPENED), ()),
        (comment("just talk"), ()),
        (comment("/r4p verify"), (RunCommand(7, 70, 3, "900", "guid"),)),
        (comment("/r4p verfy"), (RunCommand(7, 70, 3, "900", "guid"),)),
        (comment("> /r4p verify"), ()),
        (comment("please /r4p verify"), ()),
        (comment("```\n/r4p verify\n```"), (RunCommand(7, 70, 3, "900", "guid"),)),
        (review(), ()),
        (review("/r4p verify"), (RunCommand(7, 70, 12, "review-800", "guid"),)),
        (review("> /r4p verify"), ()),
        (review("/r4p verify", ReviewAction.DISMISSED), ()),
        (review("/r4p verify", sender=BOT), ()),
        (check(CheckAction.COMPLETED), ()),
        (push(config_touched=False), ()),
        (push(config_touched=True), ()),
        (installation(InstallationAction.CREATED, InstalledRepository(70, "octo/cat")), ()),
        (installation(InstallationAction.SUSPEND, InstalledRepository(70, "octo/cat")), ()),
        (installation(InstallationAction.DELETED, InstalledRepository(70, "octo/cat")), (PurgeData(7, None),)),
        (MOVED, (PurgeData(7, 72),)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, tuple) else "",
)  # fmt: skip
def test_every_kept_delivery_is_recorded_and_some_bring_more(event, more):
    assert plan_jobs(event) == (RECORD, *more)


def test_the_apps_name_commands_too():
    assert len(plan_jobs(comment("@r4p-bot verify"), mention="r4p-bot")) == 2
    assert len(plan_jobs(comment("@r4p-bot verify"))) == 1


@pytest.mark.parametrize(
    ("event", "repositories"),
    [
        (push(config_touched=True), [70]),
        (installation(InstallationAction.CREATED, InstalledRepository(70, "octo/cat")), [70]),
        (installation(InstallationAction.UNSUSPEND, InstalledRepository(70, "octo/cat")), [70]),
        (installation(InstallationAction.SUSPEND, InstalledRepository(70, "octo/cat")), []),
        (installation(InstallationAction.DELETED, InstalledRepository(70, "octo/cat")), []),
        (MOVED, [71]),
    ],
)
def test_a_configuration_is_read_once_its_repository_is_known(event, repositories):
    wanted = tuple(Planned(RefreshConfig(7, number)) for number in repositories)
    assert plan_follow_ups(event, StoredLinks()) == wanted


def evaluations(*numbers, trigger="pull_request", after=0.0, wish=""):
    return tuple(Planned(EvaluateIssue(7, 70, n, trigger), after, wish) for n in numbers)


def plan_after_reading(event, context=NOBODY, host="github.com"):
    """Plan what follows once the worker has read the pull request's text."""
    return plan_follow_ups(event, replace(context, closing_issues=find_closing_issues(event, host)))


@pytest.mark.parametrize(
    "action",
    [a for a in PullAction if a not in {PullAction.SYNCHRONIZE, PullAction.LOCKED}],
)
def test_a_pull_request_makes_us_look_at_the_issues_it_names(action):
    assert plan_after_reading(pull(action, "Fixes #3"), NOBODY) == evaluations(3)


def test_a_moved_head_is_told_apart():
    event = pull(PullAction.SYNCHRONIZE, "Fixes #3")
    assert plan_after_reading(event, NOBODY) == evaluations(3, trigger="moved_head")


def test_the_title_counts_like_the_body():
    assert plan_after_reading(pull(title="Fix #4"), NOBODY) == evaluations(4)


def test_issues_it_no_longer_names_are_looked_at_as_well():
    known = StoredLinks(issues=frozenset({9, 5}))
    assert plan_after_reading(pull(body="Fixes #3, fixes #9"), known) == evaluations(5, 9, 3)


def test_a_quiet_time_is_kept_before_looking():
    known = StoredLinks(quiet_seconds=600)
    assert plan_after_reading(pull(body="Fixes #3"), known) == evaluations(3, after=600)


def test_links_of_an_enterprise_server_count():
    event = pull(body="Fixes https://git.example.org/octo/cat/issues/3")
    assert plan_after_reading(event, host="git.example.org") == evaluations(3)


def test_a_pull_request_that_names_nothing_is_asked_about():
    assert plan_after_reading(pull(), NOBODY) == (Planned(LocateIssues(7, 70, 12)),)


def test_a_closed_one_that_names_nothing_is_left_alone():
    assert plan_after_reading(pull(PullAction.CLOSED), NOBODY) == ()
    assert plan_after_reading(pull(PullAction.LOCKED, "Fixes #3"), NOBODY) == ()


def test_a_single_event_plans_a_limited_number_of_evaluations():
    body = " ".join(f"fixes #{n}" for n in range(1, 100))
    assert plan_after_reading(pull(body=body), NOBODY) == evaluations(*range(1, MAX_ISSUES + 1))


@pytest.mark.parametrize("action", [IssueAction.EDITED, IssueAction.CLOSED, IssueAction.REOPENED])
def test_a_changed_issue_with_a_group_is_looked_at(action):
    known = StoredLinks(issues=frozenset({3}))
    assert plan_follow_ups(issue(action), known) == evaluations(3, trigger="issue")
    assert plan_follow_ups(issue(action), NOBODY) == ()


@pytest.mark.parametrize(
    "event",
    [check(CheckAction.REREQUESTED), check(CheckAction.REQUESTED_ACTION, Button.VERIFY)],
    ids=["rerequested", "button"],
)
def test_asking_again_by_button_counts_as_a_command_and_does_not_wait(event):
    known = StoredLinks(issues=frozenset({3}), quiet_seconds=600)
    assert plan_follow_ups(event, known) == evaluations(3, trigger="command", wish="command")


@pytest.mark.parametrize(
    "event",
    [
        issue(IssueAction.OPENED),
        issue(IssueAction.DELETED),
        check(CheckAction.COMPLETED),
        check(CheckAction.REQUESTED_ACTION, Button.AGREE),
        check(CheckAction.REREQUESTED, sender=Actor(5, "x[bot]", is_bot=True)),
        build_check_event(action=CheckAction.REREQUESTED, is_ours=False),
        build_check_event(action=CheckAction.REQUESTED_ACTION, button=Button.VERIFY, is_ours=False),
        comment("/r4p verify"),
        review(),
        push(config_touched=False),
        installation(InstallationAction.CREATED),
    ],
    ids=lambda event: type(event).__name__,
)
def test_nothing_follows_from_what_is_only_recorded(event):
    assert plan_follow_ups(event, StoredLinks(issues=frozenset({3}))) == ()
