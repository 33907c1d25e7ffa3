"""Give the free seats of a group to alternatives."""

from collections.abc import Iterator, Sequence

from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation
from app.policy.alternative_policy import SeatCandidate, count_seats, find_new_edits, keep_seats
from model.domain import PatchId, PatchVerdict
from model.verdict_json import read_patches
from worker.judging.rivals import Rivals


def choose_seats(
    rivals: Rivals, alternatives: Sequence[Alternative], newest: Evaluation | None, to_come: int
) -> tuple[Alternative, ...]:
    """Return those of `alternatives` that get a free seat in the group; copies of another patch get none.

    `newest` is the group's newest evaluation, or None. If there are too few seats, its verdicts decide which
    alternatives keep one. `to_come` seats stay free for alternatives that agents will write.
    """
    kept = set(rivals.judgeable)
    rival_diffs = [patch.diff for patch in rivals.candidates if patch.pull in kept]
    distinct = [
        alternatives[index]
        for index in find_new_edits(rival_diffs, [patch.diff for patch in alternatives])
    ]
    free = count_seats(rivals.settings.config, len(kept), to_come)
    return tuple(
        distinct[index] for index in keep_seats([*_describe_seats(distinct, newest)], free)
    )


def _describe_seats(
    alternatives: Sequence[Alternative], newest: Evaluation | None
) -> Iterator[SeatCandidate]:
    present = {alternative.attempt for alternative in newest.alternatives} if newest else set[int]()
    verdicts = _index_verdicts(newest)
    replaced = {alternative.guided_by for alternative in alternatives}
    for alternative in alternatives:
        yield SeatCandidate(
            alternative.attempt not in present,
            alternative.attempt in replaced,
            verdicts.get(alternative.id),
        )


def _index_verdicts(newest: Evaluation | None) -> dict[PatchId, PatchVerdict]:
    if newest is None or not isinstance(newest.verdict, dict):
        return {}
    return {patch.id: patch for patch in read_patches(newest.verdict)}
