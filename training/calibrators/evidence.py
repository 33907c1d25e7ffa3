"""Combine run files of `r4p evaluate` into evidence: verifiers' answers on the same patches, with labels (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.calibration.calibration import Evidence
from model.calibration.evidence import build_vote_evidence
from model.domain import PatchId, Verdict
from model.evaluation.judge_catalog import CONSENSUS
from model.evaluation.judged_group import JudgedGroup, JudgedPatch, JudgementKey
from model.evaluation.run_name import STRICT_SUFFIX, is_calibrated, strip_suffixes
from model.voting.thresholds import Thresholds
from training.labels.weight_caps import LabelOrigin


@dataclass(frozen=True, slots=True)
class PatchEvidence:
    """A row to fit a calibrator on: a patch's votes and consensus belief, and whether it is correct."""

    evidence: Evidence
    correct: bool
    """The label of the patch."""
    issue: str
    """Identifier of the issue. Rows of one issue are held out together."""
    weight: float = 1.0
    """Weight of the row in a calibrator's fit. A row of weight 0 keeps its fold and changes nothing else."""
    source: LabelOrigin | None = None
    """None: the label does not come from the bot's history."""


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """A judged group with the evidence (votes and consensus belief) on each of its patches."""

    group: JudgedGroup
    """The group as judged by the verifier that votes, or else by consensus."""
    evidence: tuple[Evidence, ...]
    """Evidence on each patch, in the order of the group's patches."""


def collect_evidence(runs: Sequence[JudgedGroup]) -> list[GroupEvidence]:
    """Combine the judgements of run files into evidence on each group that all their verifiers judged.

    `runs` has the judged groups of all run files. Judgements of the strict consensus judge are ignored. Raises
    ValueError for two verifiers besides consensus, for a run with a calibrator, and when no group was judged by all.
    """
    runs = [group for group in runs if not group.key.verifier.endswith(STRICT_SUFFIX)]
    if weighed := {group.key.verifier for group in runs if is_calibrated(group.key.verifier)}:
        raise ValueError(
            f"{min(weighed)} was made with a calibrator; fit on runs without --calibrator"
        )
    judges = sorted({_identify_judge(group.key) for group in runs})
    voting = [judge for judge in judges if strip_suffixes(judge[0]) != CONSENSUS]
    if len(judges) > 2 or len(voting) > 1:
        names = "; ".join(" ".join(map(str, judge)) for judge in judges)
        raise ValueError(
            f"give run files of one verifier, or of one verifier and {CONSENSUS}, not: {names}"
        )
    by_judge = {
        judge: {group.key.group: group for group in runs if _identify_judge(group.key) == judge}
        for judge in judges
    }
    shared = [
        group
        for group in next(iter(by_judge.values()), {})
        if all(group in groups_by_id for groups_by_id in by_judge.values())
    ]
    if not shared:
        raise ValueError("the run files share no group; judge the same file of groups with both")
    return [
        _combine([groups_by_id[group] for groups_by_id in by_judge.values()]) for group in shared
    ]


def list_rows(groups: Sequence[GroupEvidence]) -> list[PatchEvidence]:
    """Build the rows to fit a calibrator on: one for each patch of the groups, in order, with weight 1."""
    return [
        PatchEvidence(evidence, patch.resolved, case.group.instance_id)
        for case in groups
        for patch, evidence in zip(case.group.patches, case.evidence, strict=True)
    ]


def drop_votes(groups: Sequence[GroupEvidence]) -> list[GroupEvidence]:
    """Return copies of the groups whose evidence holds the consensus belief only."""
    return [
        replace(
            case,
            evidence=tuple(Evidence(consensus=evidence.consensus) for evidence in case.evidence),
        )
        for case in groups
    ]


def drop_consensus(groups: Sequence[GroupEvidence]) -> list[GroupEvidence]:
    """Return copies of the groups whose evidence holds no consensus belief."""
    return [
        replace(
            case, evidence=tuple(replace(evidence, consensus=None) for evidence in case.evidence)
        )
        for case in groups
    ]


def apply_probabilities(
    groups: Sequence[GroupEvidence],
    probabilities: Sequence[float | None],
    thresholds: Sequence[Thresholds],
) -> list[JudgedGroup]:
    """Return the judged groups of `groups` with new probabilities and the verdicts that follow from them.

    `probabilities` and `thresholds` have an item for each patch of the groups, in order. The patches lose their
    uncalibrated scores. A verdict of *not judged* does not change.
    """
    left = iter(zip(probabilities, thresholds, strict=True))
    return [
        replace(
            case.group,
            patches=tuple(_apply_probability(patch, *next(left)) for patch in case.group.patches),
        )
        for case in groups
    ]


def _identify_judge(key: JudgementKey) -> tuple[str, str, str, int]:
    return key.verifier, key.engine.model, key.engine.prompt_fingerprint, key.votes


def _combine(judged: Sequence[JudgedGroup]) -> GroupEvidence:
    voted = next(
        (group for group in judged if strip_suffixes(group.key.verifier) != CONSENSUS), None
    )
    consensus = next(
        (group for group in judged if strip_suffixes(group.key.verifier) == CONSENSUS), None
    )
    beliefs = {patch.id: patch.belief for patch in consensus.patches} if consensus else {}
    base = voted or judged[0]
    return GroupEvidence(
        base, tuple(_build_evidence(patch, voted, beliefs) for patch in base.patches)
    )


def _build_evidence(
    patch: JudgedPatch, voted: JudgedGroup | None, beliefs: dict[PatchId, float | None]
) -> Evidence:
    consensus = beliefs.get(patch.id)
    if voted is None:
        return Evidence(consensus=consensus)
    if patch.is_preliminary:
        return Evidence()
    forced = voted.count_forced_votes() / voted.valid if voted.valid else None
    return build_vote_evidence(
        patch.votes, patch.score, forced, consensus, strip_suffixes(voted.key.verifier)
    )


def _apply_probability(
    patch: JudgedPatch, probability: float | None, thresholds: Thresholds
) -> JudgedPatch:
    verdict = patch.verdict
    if verdict is not Verdict.NOT_JUDGED:
        verdict = thresholds.decide(probability)
    return replace(patch, score=None, probability=probability, verdict=verdict)
