"""Which of our own alternatives are judged beside the pull requests of an issue (pure)."""

from collections.abc import Iterator, Sequence

from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation
from app.policy.alternative_policy import Seated, keep_seats, new_edits, seats
from model.domain import PatchId, PatchVerdict
from model.verdict_json import patches_from_json
from worker.judging.rivals import Rivals


def beside(
    rivals: Rivals, there: Sequence[Alternative], newest: Evaluation | None, to_come: int
) -> tuple[Alternative, ...]:
    """Those that still differ from every pull request, as far as there are seats beside `to_come` new ones."""
    kept = set(rivals.judgeable)
    theirs = [one.diff for one in rivals.candidates if one.pull in kept]
    ours = [there[at] for at in new_edits(theirs, [one.diff for one in there])]
    free = seats(rivals.settings.config, len(kept), to_come)
    return tuple(ours[at] for at in keep_seats([*_seated(ours, newest)], free))


def _seated(ours: Sequence[Alternative], newest: Evaluation | None) -> Iterator[Seated]:
    present = {one.attempt for one in newest.alternatives} if newest else set[int]()
    said = _said(newest)
    replaced = {one.guided_by for one in ours}
    for one in ours:
        yield Seated(one.attempt not in present, one.attempt in replaced, said.get(one.id))


def _said(newest: Evaluation | None) -> dict[PatchId, PatchVerdict]:
    if newest is None or not isinstance(newest.verdict, dict):
        return {}
    return {one.id: one for one in patches_from_json(newest.verdict)}
