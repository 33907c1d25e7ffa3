"""Evidence leaves out unreadable votes, and a calibrator makes no claim without evidence."""

from dataclasses import replace

import pytest

from model.calibration import evidence
from model.calibration.calibration import Calibrator, Evidence, History
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    PatchVerdict,
    Tokens,
    Verdict,
    Vote,
    VoteCount,
)
from model.voting.thresholds import Thresholds

SURE = Calibrator(
    "2026-11-21T00:00:00+00:00",
    History(60, 100, 100),
    weights={"votes": 1.0, "consensus": 1.0},
    thresholds=Thresholds(0.8, 0.2),
)
LITTLE = replace(SURE, history=History(5, 8, 8))


def build_verdict(name, verdict, votes, score):
    return PatchVerdict(name, verdict, votes, "It checks.", Coverage(1, 1), score=score)


def group(*patches, engine="scripted", cast=()):
    known_evidence = EngineInfo(engine, "m", "0" * 12)
    return GroupVerdict(patches, known_evidence, tuple(cast), len(cast), (), Tokens(), 0.0, 0.0)


GOOD = build_verdict("a", Verdict.CORRECT, VoteCount(4, 0), 1.0)
SPLIT = build_verdict("b", Verdict.CORRECT, VoteCount(3, 2), 0.6)
MUTE = build_verdict("c", Verdict.UNSURE, VoteCount(1, 0, 3), 1.0)
TOO_LONG = build_verdict("d", Verdict.NOT_JUDGED, VoteCount(), None)
SWAYED = replace(build_verdict("f", Verdict.UNSURE, VoteCount(6, 2), 0.75), depends_on=("a",))
SILENT = build_verdict("e", Verdict.UNSURE, VoteCount(0, 0, 4), None)


def test_evidence_holds_votes_and_consensus():
    cast = [Vote(1, ("a",), frozenset("a"), "", forced=True), Vote(2, ("a",), frozenset(), "")]
    known = evidence.build_evidence(group(GOOD, SPLIT, cast=cast), {"a": 0.7}, "r4p")
    assert known == {"a": Evidence(1.0, 4, 1.0, 0.5, 0.7), "b": Evidence(0.6, 5, 1.0, 0.5, None)}


@pytest.mark.parametrize("patch", [MUTE, TOO_LONG, SILENT, SWAYED], ids=lambda patch: patch.id)
def test_unreadable_or_rival_dependent_votes_are_no_evidence(patch):
    verdict = group(patch)
    known = evidence.build_evidence(verdict, {patch.id: 0.99}, "r4p")
    assert known == {}
    assert evidence.apply_calibrator(verdict, known, SURE) == verdict


@pytest.mark.parametrize(
    ("verifier", "valid"),
    [
        ("r4p", 4),
        ("hybrid", 4),
        ("hybrid:yes-no+pointwise", 4),
        ("yes-no", 0),
        ("yes-no-trajectory", 0),
        ("hybrid:r4p+yes-no", 0),
    ],
)
def test_yes_no_probability_counts_as_no_votes(verifier, valid):
    known = evidence.build_evidence(group(GOOD), {}, verifier)["a"]
    assert (known.score, known.valid, known.valid_share) == (1.0, valid, 1.0)


def test_preliminary_scores_are_no_evidence():
    left = replace(GOOD, is_preliminary=True)
    assert list(evidence.build_evidence(group(left, SPLIT), {"a": 0.9}, "hybrid")) == ["b"]


def test_consensus_verdict_gives_consensus_evidence():
    one = build_verdict("a", Verdict.CORRECT, VoteCount(), 0.55)
    known = evidence.build_evidence(group(one, engine=evidence.CONSENSUS), {}, "r4p")
    assert known == {"a": Evidence(consensus=0.55)}
    assert known["a"] == evidence.build_vote_evidence(VoteCount(), None, None, 0.55, "consensus")


@pytest.mark.parametrize("calibrator", [None, LITTLE], ids=["none", "too little history"])
def test_verifiers_own_verdict_stands_without_history(calibrator):
    known_evidence = evidence.build_evidence(group(SPLIT), {}, "r4p")
    assert evidence.apply_calibrator(group(SPLIT), known_evidence, calibrator).patches == (SPLIT,)
    alone = group(
        *(
            build_verdict("a", Verdict.UNSURE, VoteCount(), 0.35),
            build_verdict("b", Verdict.INCORRECT, VoteCount(), 0.1),
        ),
        engine=evidence.CONSENSUS,
    )
    found = evidence.apply_calibrator(
        alone, evidence.build_evidence(alone, {}, "r4p"), calibrator
    ).patches
    assert [(item.verdict, item.probability) for item in found] == [
        (Verdict.UNSURE, None),
        (Verdict.INCORRECT, None),
    ]


def test_probability_decides_with_history_and_says_what_it_changed():
    verdict = group(GOOD, SPLIT)
    found = evidence.apply_calibrator(
        verdict, evidence.build_evidence(verdict, {"a": 0.9}, "r4p"), SURE
    )
    sure, doubtful = found.patches
    assert (sure.verdict, sure.reason) == (Verdict.CORRECT, "It checks.")
    assert sure.probability > 0.9
    assert 0.5 < doubtful.probability < 0.8
    assert (doubtful.verdict, doubtful.reason) == (
        Verdict.UNSURE,
        "Uncalibrated, this would be correct. It checks.",
    )
