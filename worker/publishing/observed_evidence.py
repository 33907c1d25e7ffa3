"""Add to a verdict, just before it is published, what tests and CI showed about its patches."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from app.db.session import transaction
from app.db.store.evidence import group_tests
from app.db.store.evidence.group_tests import GroupTests
from app.db.store.issues.evaluations import Evaluation, patch_id
from app.github.facts import Heads
from app.policy.evidence_policy import compare_group, decide_ci, weigh_evidence
from app.values.identifiers import CommitSha, PullNumber
from model.domain import CiResult, ObservedEvidence, PatchId
from model.verdict_json import add_evidence
from worker.queue.context import Context

STILL_RUNNING = "its tests have not ended yet"
_NOT_READ = "its patch could not be read"


def count_wait(context: Context, evaluation: Evaluation, seconds: float) -> float:
    """Return for how long the verdict waits for its tests, at most `seconds` after it was given; 0: not any more."""
    with transaction(context.database) as connection:
        return group_tests.compute_wait(connection, evaluation.id, seconds)


def add_observations(
    context: Context, evaluation: Evaluation, heads: Heads, *, tests_claim: bool = False
) -> Evaluation:
    """Return the evaluation with the evidence that is known now; store its verdict if that changes.

    `tests_claim` says whether tests may claim a patch incorrect.
    """
    with transaction(context.database) as connection:
        tests = group_tests.load(connection, evaluation.id)
    document = cast("dict[str, Any]", evaluation.verdict)
    evidence = dict(list_evidence(evaluation, tests, heads))
    weigh = partial(weigh_evidence, group=compare_group(evidence, tests_claim=tests_claim))
    weighed = add_evidence(document, evidence, weigh)
    if weighed == document:
        return evaluation
    with context.transaction() as connection:
        group_tests.save_weighed(connection, evaluation, weighed)
    return replace(evaluation, verdict=weighed)


def list_evidence(
    evaluation: Evaluation, tests: GroupTests | None, heads: Heads
) -> Iterator[tuple[PatchId, ObservedEvidence]]:
    """Yield the evidence about each patch of which anything is known or wanted (pure)."""
    for candidate in evaluation.candidates:
        patch = patch_id(candidate.pull)
        ci = _find_ci(candidate.pull, candidate.head_sha, heads)
        evidence = replace(_find_tests(patch, tests), ci=ci)
        if evidence != ObservedEvidence():
            yield patch, evidence
    for alternative in evaluation.alternatives:
        evidence = _find_tests(alternative.id, tests)
        if evidence != ObservedEvidence():
            yield alternative.id, evidence


def _find_tests(patch: PatchId, tests: GroupTests | None) -> ObservedEvidence:
    if tests is None:
        return ObservedEvidence()
    if tests.finished_at is None:
        return ObservedEvidence(unknown=STILL_RUNNING)
    if tests.outcome.failure is not None:
        return ObservedEvidence(unknown=tests.outcome.failure)
    return tests.outcome.results.get(patch, ObservedEvidence(unknown=_NOT_READ))


def _find_ci(pull: PullNumber, head: CommitSha, heads: Heads) -> CiResult | None:
    """Return the CI of the judged commit; None when the pull request has another head now."""
    judged = next((now for now in heads.pulls if (now.number, now.head_sha) == (pull, head)), None)
    return None if judged is None else decide_ci(judged.checks, heads.base_checks)
