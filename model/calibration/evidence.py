"""This module collects the evidence about each patch of a verdict, and limits its claims to what that bears (pure)."""

from collections.abc import Mapping
from dataclasses import replace

from model.calibration.calibration import Calibrator, Evidence
from model.domain import GroupVerdict, PatchId, PatchVerdict, Verdict, VoteCount
from model.patches.unread_parts import describe_unread

CONSENSUS = "consensus"
"""The engine name of the consensus verifier."""


_NUMBER_VERIFIERS = frozenset({"yes-no", "yes-no-trajectory", "reward-model", "rubric"})
"""Verifiers whose belief is no share of votes: P(YES), the sigmoid of a reward model's score, or the lines met."""


def is_vote_share(verifier: str) -> bool:
    """Return whether the belief of the verifier with this name is a share of votes. A hybrid's last part decides."""
    return verifier.rpartition("+")[2] not in _NUMBER_VERIFIERS


def build_evidence(
    verdict: GroupVerdict, consensus: Mapping[PatchId, float | None], verifier: str
) -> dict[PatchId, Evidence]:
    """Return the evidence about each patch that the verifier has an opinion of, by patch id.

    `consensus` maps patch ids to the beliefs of the consensus verifier; `verifier` is the name of the verdict's own.
    Votes that failed, cannot be read, or depend on one rival are no evidence. A score of the shortlist round is none
    either, because its scale differs from the second round's.
    """
    forced = verdict.count_forced_votes() / verdict.valid if verdict.valid else None
    is_consensus = verdict.engine.name == CONSENSUS
    return {
        patch.id: Evidence(consensus=patch.score)
        if is_consensus
        else build_vote_evidence(
            patch.votes, patch.score, forced, consensus.get(patch.id), verifier
        )
        for patch in verdict.patches
        if _is_opinion(patch)
    }


def build_vote_evidence(
    votes: VoteCount,
    score: float | None,
    forced_share: float | None,
    consensus: float | None,
    verifier: str,
) -> Evidence:
    """Build the evidence about one patch from its stored votes. An opinion without votes has no `valid_share`.

    `consensus` is the belief of the consensus verifier; `verifier` is the name of the verifier that gave `score`.
    """
    asked = votes.valid + votes.none
    return Evidence(
        score=score,
        valid=votes.valid if is_vote_share(verifier) else 0,
        valid_share=votes.valid / asked if asked else None,
        forced_share=forced_share,
        consensus=consensus,
    )


def apply_calibrator(
    verdict: GroupVerdict, evidence: Mapping[PatchId, Evidence], calibrator: Calibrator | None
) -> GroupVerdict:
    """Return the verdict with probabilities, and with the claims that the calibrator's thresholds allow.

    `evidence` is by patch id. Without a calibrator, or without enough history, there is no probability and the
    verifier's own verdict stands. Patches without evidence keep their verdict.
    """
    patches = tuple(
        _apply_to_patch(patch, evidence.get(patch.id), calibrator) for patch in verdict.patches
    )
    return replace(verdict, patches=patches)


def withdraw_partial_claims(verdict: GroupVerdict) -> GroupVerdict:
    """Return the verdict with *unsure* in place of each claim about a patch that the verifier did not read whole.

    Such a patch has no probability either. Its votes and score stay, because they are evidence about what was read.
    """
    patches = tuple(
        _withdraw_claim(patch) if _is_partly_read(patch) else patch for patch in verdict.patches
    )
    return replace(verdict, patches=patches)


def _is_partly_read(patch: PatchVerdict) -> bool:
    is_judged = patch.verdict is not Verdict.NOT_JUDGED
    return is_judged and not patch.coverage.is_whole


def _withdraw_claim(patch: PatchVerdict) -> PatchVerdict:
    unread = describe_unread(patch.coverage)
    remark = f"{unread[0].upper()}{unread[1:]}; so the verdict claims nothing. "
    return replace(
        patch, verdict=Verdict.UNSURE, probability=None, reason=f"{remark}{patch.reason}"
    )


def _is_opinion(patch: PatchVerdict) -> bool:
    is_judged = patch.verdict is not Verdict.NOT_JUDGED and patch.score is not None
    is_final = is_judged and not patch.is_preliminary
    return is_final and not patch.depends_on and patch.votes.valid >= patch.votes.none


def _apply_to_patch(
    patch: PatchVerdict, evidence: Evidence | None, calibrator: Calibrator | None
) -> PatchVerdict:
    if evidence is None:
        return replace(patch, probability=None)
    probability = calibrator.predict_probability(evidence) if calibrator else None
    if calibrator is None or probability is None:
        return replace(patch, probability=None)
    verdict = calibrator.thresholds.decide(probability)
    changed = (
        f"Uncalibrated, this would be {patch.verdict}. " if verdict is not patch.verdict else ""
    )
    return replace(
        patch, verdict=verdict, probability=probability, reason=f"{changed}{patch.reason}"
    )
