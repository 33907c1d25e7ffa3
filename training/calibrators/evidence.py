"""From run files to evidence: what verifiers said of the same patches, side by side with the truth (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.calibration.calibration import Evidence
from model.calibration.evidence import of_votes
from model.domain import PatchId, Verdict
from model.evaluation.judge_catalog import CONSENSUS, STRICT, is_calibrated, plain
from model.evaluation.judged_group import JudgedGroup, JudgedPatch, JudgementKey
from model.voting.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Row:
    """What was known of one patch, and what became of it."""

    evidence: Evidence
    correct: bool
    issue: str
    weight: float = 1.0
    """How much it counts in a fit."""


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """One judged group with the evidence on each of its patches."""

    group: JudgedGroup
    evidence: tuple[Evidence, ...]


def cases(runs: Sequence[JudgedGroup]) -> list[GroupEvidence]:
    """The groups that every verifier of the run files has judged; consensus's strict twin is passed over.

    Raises ValueError for more than one verifier beside consensus, for a run that was weighed by a calibrator, and when
    no group was judged by all.
    """
    runs = [one for one in runs if not one.key.verifier.endswith(STRICT)]
    if weighed := {one.key.verifier for one in runs if is_calibrated(one.key.verifier)}:
        raise ValueError(
            f"{min(weighed)} was weighed by a calibrator already; fit on runs without --calibrator"
        )
    judges = sorted({_judge(one.key) for one in runs})
    voting = [judge for judge in judges if plain(judge[0]) != CONSENSUS]
    if len(judges) > 2 or len(voting) > 1:
        names = "; ".join(" ".join(map(str, judge)) for judge in judges)
        raise ValueError(
            f"run files of one verifier, or of one and {CONSENSUS}, are wanted, not: {names}"
        )
    by_judge = {
        judge: {one.key.group: one for one in runs if _judge(one.key) == judge} for judge in judges
    }
    shared = [
        group
        for group in next(iter(by_judge.values()), {})
        if all(group in of for of in by_judge.values())
    ]
    if not shared:
        raise ValueError("the run files share no group; judge the same file of groups with both")
    return [_case([of[group] for of in by_judge.values()]) for group in shared]


def rows(of: Sequence[GroupEvidence]) -> list[Row]:
    """One row for each patch, in order."""
    return [
        Row(evidence, patch.resolved, case.group.instance_id)
        for case in of
        for patch, evidence in zip(case.group.patches, case.evidence, strict=True)
    ]


def without_votes(of: Sequence[GroupEvidence]) -> list[GroupEvidence]:
    """The same with what consensus believes alone."""
    return [
        replace(case, evidence=tuple(Evidence(consensus=one.consensus) for one in case.evidence))
        for case in of
    ]


def without_consensus(of: Sequence[GroupEvidence]) -> list[GroupEvidence]:
    """The same with the votes alone."""
    return [
        replace(case, evidence=tuple(replace(one, consensus=None) for one in case.evidence))
        for case in of
    ]


def with_probabilities(
    of: Sequence[GroupEvidence],
    probabilities: Sequence[float | None],
    thresholds: Sequence[Thresholds],
) -> list[JudgedGroup]:
    """The groups as they would have been judged with these probabilities and thresholds, one for each row."""
    left = iter(zip(probabilities, thresholds, strict=True))
    return [
        replace(
            case.group,
            patches=tuple(_calibrated(patch, *next(left)) for patch in case.group.patches),
        )
        for case in of
    ]


def _judge(key: JudgementKey) -> tuple[str, str, str, int]:
    return key.verifier, key.engine.model, key.engine.prompt_fingerprint, key.votes


def _case(judged: Sequence[JudgedGroup]) -> GroupEvidence:
    voted = next((one for one in judged if plain(one.key.verifier) != CONSENSUS), None)
    consensus = next((one for one in judged if plain(one.key.verifier) == CONSENSUS), None)
    beliefs = {one.id: one.belief for one in consensus.patches} if consensus else {}
    base = voted or judged[0]
    return GroupEvidence(base, tuple(_evidence(one, voted, beliefs) for one in base.patches))


def _evidence(
    patch: JudgedPatch, voted: JudgedGroup | None, beliefs: dict[PatchId, float | None]
) -> Evidence:
    consensus = beliefs.get(patch.id)
    if voted is None:
        return Evidence(consensus=consensus)
    if patch.is_preliminary:
        return Evidence()
    forced = voted.forced / voted.valid if voted.valid else None
    return of_votes(patch.votes, patch.score, forced, consensus, plain(voted.key.verifier))


def _calibrated(
    patch: JudgedPatch, probability: float | None, thresholds: Thresholds
) -> JudgedPatch:
    verdict = patch.verdict
    if verdict is not Verdict.NOT_JUDGED:
        verdict = thresholds.verdict(probability)
    return replace(patch, score=None, probability=probability, verdict=verdict)
