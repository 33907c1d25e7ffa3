"""Submit a frozen group: continue its evaluation, let a changed group wait, or store a new evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.db.store.evidence import group_tests
from app.db.store.evidence.group_tests import SuiteRequest
from app.db.store.issues import approvals, evaluations, groups, moved_verdicts, versions
from app.db.store.issues.evaluations import Evaluation, NewEvaluation
from app.db.store.queue import jobs
from app.jobs.job import EvaluateIssue, Planned, ProposePatches, PublishVerdict, VerifyGroup
from app.jobs.suite_jobs import PrepareTests, list_evaluation_keys
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import LeftOutPull, WaitForTomorrow
from app.policy.reevaluation_policy import (
    COUNTED_FOR,
    ChangedGroup,
    compute_pause,
    find_changes,
    list_logins,
)
from app.values.identifiers import EvaluationId
from worker.judging.tree_handover import BaseCommit, ExportedTree, TreeRequired
from worker.queue.errors import Postponed

WAITS = "a changed group waits before the bot judges it again; each further change within a day waits longer"
"""Reason that `/r4p status` shows during the pause."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A frozen group that the policy allows the bot to judge, and the facts that decide its next job."""

    job: EvaluateIssue
    new_evaluation: NewEvaluation
    newest_evaluation: Evaluation | None
    """The group's newest evaluation that is not superseded."""
    is_repeat: bool
    """True when `newest_evaluation` covers the same group and nobody asked again."""
    quiet_seconds: float
    """The pause after an author's first evaluation."""
    most_per_day: int
    """Most evaluations of the issue in a day without a command."""
    tests: SuiteRequest | None = None
    """The tests that the repository wants on its candidates; None: none."""
    tree: BaseCommit | ExportedTree | None = None
    """The exported source tree of the base, or the commit of a tree that is not exported yet; None: no tree."""


def submit_group(connection: Connection, submission: Submission) -> list[Planned]:
    """Store the frozen group and return its next jobs. A repeat continues the newest evaluation.

    A changed group whose pause is not over stores nothing, and the same job runs again after the pause. Raises
    TreeRequired when the source tree is not exported yet, and Postponed when there is none for the agents.
    """
    job, new = submission.job, submission.new_evaluation
    if submission.newest_evaluation is not None and submission.is_repeat:
        return _continue_evaluation(connection, submission, submission.newest_evaluation)
    changed = _find_changes(connection, submission)
    pause = _find_pause(connection, submission, changed, datetime.now(UTC))
    if pause > timedelta(0):
        groups.set_waiting(connection, new.group, WAITS)
        return [Planned(job, pause.total_seconds())]
    tree = submission.tree
    if isinstance(tree, BaseCommit):
        raise TreeRequired(tree)
    if new.alternatives_wanted and tree is None:
        raise Postponed("the group changed during its collection", after_seconds=0)
    caused_by = sorted(frozenset[str]().union(*changed.changes))
    base = tree.commit if tree else None
    new = replace(new, caused_by=tuple(caused_by), tree_base=base)
    created = evaluations.create(connection, job.repository, new)
    supersede_jobs(connection, created.superseded)
    if tree is not None:
        # Before the commit: readers of the row must find the tree.
        tree.hand_over(created.id)
    planned = [_plan_next_job(job, created.id, new.alternatives_wanted)]
    if submission.tests is not None:
        group_tests.request(connection, created.id, submission.tests)
        place = (job.installation, job.repository, job.issue, created.id)
        planned.append(Planned(PrepareTests(*place)))
    return planned


def supersede_jobs(connection: Connection, replaced: Sequence[EvaluationId]) -> None:
    """Stop the jobs of replaced evaluations."""
    jobs.supersede(connection, list_evaluation_keys(replaced))


def _find_changes(connection: Connection, submission: Submission) -> ChangedGroup:
    """Compare the new evaluation with the last one of the group that was created, judged or not."""
    new = submission.new_evaluation
    last = evaluations.find_newest(
        connection, new.group, "collected", "verified", "published", "superseded"
    )
    rivals = (*new.candidates, *(last.candidates if last else ()))
    pulls = {each.pull for each in rivals}
    authors = groups.list_authors(connection, submission.job.repository, pulls)
    present = versions.build_versions((new.title, new.body), new.candidates, authors)
    before = (
        versions.build_versions((last.title, last.body), last.candidates, authors) if last else []
    )
    changes = find_changes(before, present)
    if last is not None and last.state == "superseded" and not changes:
        # The group was too small or closed for a while, and nobody says who changed that.
        changes = find_changes([], present)
    has_verdict = moved_verdicts.is_judged(connection, new.group, new.fingerprint)
    return ChangedGroup(new.group, changes, has_verdict, submission.quiet_seconds)


def _find_pause(
    connection: Connection, submission: Submission, changed: ChangedGroup, now: datetime
) -> timedelta:
    """Return the rest of the pause before the changed group is judged; zero for a command."""
    if submission.new_evaluation.trigger == BY_COMMAND:
        return timedelta(0)
    logins = list_logins(changed.changes)
    installation = submission.job.installation
    past = versions.list_past(connection, changed.group, installation, logins, now - COUNTED_FOR)
    return compute_pause(past, changed, now)


def _plan_next_job(
    job: EvaluateIssue, evaluation: EvaluationId, alternatives_wanted: int
) -> Planned:
    place = (job.installation, job.repository, job.issue, evaluation)
    return Planned(ProposePatches(*place) if alternatives_wanted else VerifyGroup(*place))


def _continue_evaluation(
    connection: Connection, submission: Submission, newest: Evaluation
) -> list[Planned]:
    """Plan the next job of an evaluation again, in case it was lost.

    A published verdict is published again when other pull requests are left out now.
    """
    job, left_out = submission.job, submission.new_evaluation.left_out
    has_changed = left_out != newest.left_out
    if has_changed:
        approvals.save_left_out(connection, newest.id, left_out)
    if has_changed and newest.state == "published":
        return [Planned(PublishVerdict(job.installation, job.repository, job.issue, newest.id))]
    return plan_again(job, newest)


def plan_again(job: EvaluateIssue, newest: Evaluation) -> list[Planned]:
    """Return the next job of an unpublished evaluation, which may be lost; nothing for a published one."""
    if newest.state == "collected":
        return [_plan_next_job(job, newest.id, newest.alternatives_wanted)]
    if newest.state == "verified":
        return [Planned(PublishVerdict(job.installation, job.repository, job.issue, newest.id))]
    return []


def leave_for_tomorrow(
    connection: Connection, submission: Submission, decision: WaitForTomorrow
) -> list[Planned]:
    """Let the comment of the newest evaluation name the pull requests that wait until the next day; return its job."""
    newest, new = submission.newest_evaluation, submission.new_evaluation
    if newest is None:
        return []
    judged = {each.pull: each.head_sha for each in newest.candidates}
    waiting = tuple(
        LeftOutPull(
            each.pull,
            f"its new commits are not judged yet: {decision.reason}"
            if each.pull in judged
            else decision.reason,
        )
        for each in new.candidates
        if judged.get(each.pull) != each.head_sha
    )
    changed = replace(new, left_out=(*decision.left_out, *waiting))
    return _continue_evaluation(connection, replace(submission, new_evaluation=changed), newest)
