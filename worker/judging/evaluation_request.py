"""Decide what a person's request for an evaluation means for later jobs of the same issue."""

from sqlalchemy import Connection

from app.db.store.issues import evaluations
from app.db.store.issues.evaluations import Evaluation, EvaluationRequest
from app.jobs.job import EvaluateIssue
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import select_judgeable
from worker.judging.rivals import Rivals


def build_request(job: EvaluateIssue) -> EvaluationRequest | None:
    """Return the request that the job answers; None when no comment asked for it."""
    if job.asked_in is None:
        return None
    under = job.issue if job.asked_under is None else job.asked_under
    return EvaluationRequest(job.asked_in, under)


def is_wanted_by_person(evaluation: Evaluation | None) -> bool:
    """Return whether a person still waits for the verdict of this evaluation."""
    if evaluation is None or evaluation.state == "published":
        return False
    return evaluation.trigger == BY_COMMAND


def choose_trigger(job: EvaluateIssue, newest: Evaluation | None) -> str:
    """Return the job's trigger, or that of a person who still waits for a verdict."""
    return BY_COMMAND if is_wanted_by_person(newest) else job.trigger


def is_alternative_wanted(job: EvaluateIssue, newest: Evaluation | None) -> bool:
    """Return whether a person wants an alternative, now or since an unfinished evaluation."""
    waits = newest is not None and newest.alternatives_wanted > 0
    return job.propose or (waits and is_wanted_by_person(newest))


def is_verdict_outstanding(newest: Evaluation, job: EvaluateIssue, rivals: Rivals) -> bool:
    """Return whether a person waits for a verdict on other rivals or another text than the present ones.

    A command counts for what it found. Changes by others obey the settings and the pause, after its verdict.
    """
    if job.trigger == BY_COMMAND or not is_wanted_by_person(newest) or not rivals.is_open:
        return False
    if (newest.title, newest.body) != (rivals.facts.title, rivals.facts.body):
        return True
    facts = rivals.list_candidate_facts()
    kept = select_judgeable(rivals.settings.config, facts, commanded=True)
    present = {each.pull: each.head_sha for each in rivals.candidates if each.pull in kept}
    return present != {each.pull: each.head_sha for each in newest.candidates}


def load_newest(connection: Connection, group: int) -> Evaluation | None:
    """Return the newest evaluation of a group that was not superseded; None: there is none."""
    return evaluations.find_newest(connection, group, "collected", "verified", "published")
