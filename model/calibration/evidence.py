"""What is known of each patch once it was judged, and the verdict after a calibrator weighed it (pure)."""

from collections.abc import Mapping
from dataclasses import replace

from model.calibration.calibration import Calibrator, Evidence
from model.domain import GroupVerdict, PatchId, PatchVerdict, Verdict, VoteCount

CONSENSUS = "consensus"
"""The engine's name of the verifier whose belief is evidence beside a model's votes, or stands alone."""


_READING_CHANCES = frozenset({"yes-no", "yes-no-trajectory"})
"""Verifiers whose belief is P(YES)."""


def by_votes(verifier: str) -> bool:
    """Whether the belief of who is called so is a share of votes; of a hybrid the last part's counts."""
    return verifier.rpartition("+")[2] not in _READING_CHANCES


def of_verdict(
    verdict: GroupVerdict, consensus: Mapping[PatchId, float | None], verifier: str
) -> dict[PatchId, Evidence]:
    """Evidence on the patches that the verifier has an opinion of; `consensus` was believed beside it.

    Votes that failed, can't be read, or hang on a rival's presence are no evidence, whatever consensus believes. Nor
    is what was said of a patch to draw up a shortlist: that is on another scale than what is said of those on it.
    """
    forced = verdict.forced / verdict.valid if verdict.valid else None
    alone = verdict.engine.name == CONSENSUS
    return {
        one.id: Evidence(consensus=one.score)
        if alone
        else of_votes(one.votes, one.score, forced, consensus.get(one.id), verifier)
        for one in verdict.patches
        if _is_opinion(one)
    }


def of_votes(
    votes: VoteCount,
    score: float | None,
    forced_share: float | None,
    consensus: float | None,
    verifier: str,
) -> Evidence:
    """The same from what is stored of a judgement; an opinion without votes has no share of valid ones."""
    asked = votes.valid + votes.none
    return Evidence(
        score=score,
        valid=votes.valid if by_votes(verifier) else 0,
        valid_share=votes.valid / asked if asked else None,
        forced_share=forced_share,
        consensus=consensus,
    )


def calibrated(
    verdict: GroupVerdict, known: Mapping[PatchId, Evidence], calibrator: Calibrator | None
) -> GroupVerdict:
    """The verdict with probabilities and the claims that they allow.

    Without a calibrator, or without enough history, there is no probability, and the verifier's own verdict stands.
    What was not judged or could not be read stays so.
    """
    patches = tuple(_weighed(one, known.get(one.id), calibrator) for one in verdict.patches)
    return replace(verdict, patches=patches)


def _is_opinion(patch: PatchVerdict) -> bool:
    judged = patch.verdict is not Verdict.NOT_JUDGED and patch.score is not None
    heard = judged and not patch.is_preliminary
    return heard and not patch.swayed_by and patch.votes.valid >= patch.votes.none


def _weighed(
    patch: PatchVerdict, evidence: Evidence | None, calibrator: Calibrator | None
) -> PatchVerdict:
    if evidence is None:
        return replace(patch, probability=None)
    probability = calibrator.probability(evidence) if calibrator else None
    if calibrator is None or probability is None:
        return replace(patch, probability=None)
    verdict = calibrator.thresholds.verdict(probability)
    changed = (
        f"Uncalibrated, this would be {patch.verdict}. " if verdict is not patch.verdict else ""
    )
    return replace(
        patch, verdict=verdict, probability=probability, reason=f"{changed}{patch.reason}"
    )
