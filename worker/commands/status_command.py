"""Carry out `/r4p status`: describe a group, its verdict and what it waits for."""

from dataclasses import replace

from sqlalchemy import Connection

from app import comments
from app.comments import (
    AlternativesStatus,
    GroupProgress,
    StatusView,
    SuiteState,
    SuiteStatus,
)
from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.evidence import group_tests
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.issues.groups import GroupRow
from app.db.store.queue import progress
from app.db.store.queue.effects import build_comment_key, find_github_id
from app.github.api.effect_store import EffectKey
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, ProposePatches, PublishVerdict, VerifyGroup
from app.jobs.suite_jobs import RunTests
from app.policy.event_policy import BY_COMMAND
from app.settings.repo_config import Alternatives
from app.values.identifiers import (
    CommentId,
    EvaluationId,
    IssueRef,
)
from worker.commands.command_subject import CommandResult, Subject
from worker.publishing.publish_verdict import build_comment_url
from worker.publishing.verdict_view import NOT_FINISHED, build_members
from worker.queue.context import Context
from worker.repositories.repository_config import parse_last_good


def report_status(github: GitHub, context: Context, subject: Subject) -> CommandResult:
    """Return the reply to `/r4p status`, which describes an issue's group, its verdict and its waiting jobs."""
    with transaction(context.database) as connection:
        stored = groups.load_repository(connection, subject.repository.id)
        group = groups.find_group(connection, subject.repository.id, subject.issue)
        view = StatusView((), GroupProgress.NOTHING)
        if group is not None:
            view = _build_status_view(github, context, connection, subject, group)
        waits = progress.read_waits(connection, _list_job_keys(connection, subject, group))
    view = replace(view, config_problem=stored.config_error if stored else None, waits=waits)
    return CommandResult(comments.write_status_reply(subject.asked_in, subject.issue, view))


def _build_status_view(
    github: GitHub, context: Context, connection: Connection, subject: Subject, group: GroupRow
) -> StatusView:
    newest = evaluations.find_newest(connection, group.id, "collected", "verified", "published")
    stage, detail = _find_stage(connection, group, newest)
    comment = find_github_id(
        context.database, EffectKey(subject.repository, build_comment_key(group.id))
    )
    url = None
    if comment is not None:
        issue = IssueRef(subject.repository, subject.issue)
        url = build_comment_url(github.transport.endpoints.web, issue, CommentId(comment))
    return StatusView(
        alternatives=_describe_alternatives(connection, subject, group, newest),
        tests=_describe_tests(connection, newest),
        members=build_members(groups.list_members(connection, group.id)),
        stage=stage,
        detail=detail,
        left_out=newest.left_out if newest else (),
        all_links_read=newest is None or newest.all_links_read,
        comment=url,
    )


def _list_job_keys(connection: Connection, subject: Subject, group: GroupRow | None) -> list[str]:
    """List the keys of the jobs that lead to the issue's verdict."""
    repository = subject.repository
    place = (repository.installation, repository.id, subject.issue)
    judged = evaluations.find_newest(connection, group.id, "collected") if group else None
    return [
        EvaluateIssue(*place, BY_COMMAND).key,
        PublishVerdict(*place, EvaluationId(0)).key,
        *(
            [ProposePatches.build_key(judged.id), VerifyGroup.build_key(judged.id)]
            if judged
            else []
        ),
    ]


def _describe_alternatives(
    connection: Connection, subject: Subject, group: GroupRow, newest: Evaluation | None
) -> AlternativesStatus | None:
    """Describe the alternatives; None when there are none and the settings want none."""
    stored = groups.load_repository(connection, subject.repository.id)
    config = parse_last_good(stored)
    failure = attempts.find_last_failure(connection, group.id)
    alternatives = newest.alternatives if newest else ()
    running = newest.alternatives_wanted if newest and newest.state == "collected" else 0
    if config.alternatives is Alternatives.OFF and not (alternatives or running or failure):
        return None
    return AlternativesStatus(
        alternatives=tuple(alternative.number for alternative in alternatives),
        running=running,
        spent=attempts.sum_cost(connection, subject.repository.id),
        budget=config.alternatives_budget,
        last_failure=failure,
    )


def _describe_tests(connection: Connection, newest: Evaluation | None) -> SuiteStatus | None:
    """Describe the tests of the newest group; None when the repository wanted none."""
    tests = group_tests.load(connection, newest.id) if newest else None
    if newest is None or tests is None:
        return None
    outcome = tests.outcome
    if outcome.failure is not None:
        return SuiteStatus(SuiteState.UNKNOWN, outcome.failure)
    if tests.finished_at is not None:
        results = (shown.reproduction for shown in outcome.results.values())
        written = max((result.tests for result in results if result), default=0)
        counts = outcome.expected or 0, outcome.flaky or 0
        return SuiteStatus(SuiteState.KNOWN, "", *counts, written)
    running = progress.read_progress(connection, RunTests.build_key(newest.id))
    if running:
        return SuiteStatus(SuiteState.RUNNING, running)
    return SuiteStatus(SuiteState.WAITING)


def _find_stage(
    connection: Connection, group: GroupRow, newest: Evaluation | None
) -> tuple[GroupProgress, str | None]:
    if newest is None:
        return (
            (GroupProgress.WAITING, group.waiting)
            if group.waiting
            else (GroupProgress.NOTHING, None)
        )
    if newest.failure is not None:
        return GroupProgress.FAILED, NOT_FINISHED
    if newest.state != "collected":
        return GroupProgress.JUDGED, group.waiting
    at_work = ProposePatches if newest.alternatives_wanted else VerifyGroup
    running = progress.read_progress(connection, at_work.build_key(newest.id))
    return (
        (GroupProgress.QUEUED, None)
        if running is None
        else (GroupProgress.JUDGING, running or None)
    )
