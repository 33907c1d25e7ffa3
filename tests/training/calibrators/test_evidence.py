"""Evidence from run files: each verifier's word in its place, nothing made up where one was silent."""

from dataclasses import replace

import pytest

from model.calibration.calibration import Evidence
from model.domain import Verdict, VoteCount
from model.voting.thresholds import Thresholds
from tests.model.evaluation.builders import cast_vote, make_judged_group
from training.calibrators.evidence import (
    apply_probabilities,
    collect_evidence,
    drop_consensus,
    drop_votes,
    list_rows,
)

VOTES = [cast_vote([]), cast_vote([], forced=True), cast_vote(None)]


def build_voted_group():
    """Two patches: two of three votes read about the first, none about the second."""
    group = make_judged_group("a", (0.5, True), (None, False), votes=VOTES, asked=3)
    counts = VoteCount(1, 1, 1), VoteCount()
    patches = [replace(one, votes=count) for one, count in zip(group.patches, counts, strict=True)]
    return replace(group, patches=tuple(patches))


CONSENSUS = make_judged_group("a", (0.7, True), (0.2, False), verifier="consensus")


def test_evidence_has_votes_and_consensus():
    (case,) = collect_evidence([build_voted_group(), CONSENSUS])
    assert case.group == build_voted_group()
    assert case.evidence == (
        Evidence(0.5, 2, valid_share=2 / 3, forced_share=0.5, consensus=0.7),
        Evidence(None, 0, valid_share=None, forced_share=0.5, consensus=0.2),
    )
    assert [(row.correct, row.issue) for row in list_rows([case])] == [(True, "a"), (False, "a")]


def test_consensus_alone_is_evidence():
    (case,) = collect_evidence([CONSENSUS])
    assert case.evidence == (Evidence(consensus=0.7), Evidence(consensus=0.2))


def test_votes_or_consensus_can_be_dropped():
    cases = collect_evidence([build_voted_group(), CONSENSUS])
    assert [one.consensus for one in drop_consensus(cases)[0].evidence] == [None, None]
    assert drop_votes(cases)[0].evidence == (Evidence(consensus=0.7), Evidence(consensus=0.2))


def test_probability_replaces_the_score_and_decides():
    cases = collect_evidence([build_voted_group(), CONSENSUS])
    (group,) = apply_probabilities(cases, [0.9, 0.9], [Thresholds(0.8, 0.2)] * 2)
    assert [one.verdict for one in group.patches] == [Verdict.CORRECT, Verdict.NOT_JUDGED]
    assert [(one.score, one.belief) for one in group.patches] == [(None, 0.9)] * 2


def test_consensus_with_a_minimum_of_lines_is_consensus():
    short = make_judged_group("a", (0.7, True), (None, False), verifier="consensus-min-lines-3")
    strict = make_judged_group(
        "a", (0.1, True), (0.1, False), verifier="consensus-min-lines-3-strict"
    )
    (case,) = collect_evidence([build_voted_group(), short, strict])
    assert [one.consensus for one in case.evidence] == [0.7, None]
    assert [one.score for one in case.evidence] == [0.5, None]


def test_yes_probability_and_preliminary_score_are_no_votes():
    group = build_voted_group()
    yes_no = replace(group, key=replace(group.key, verifier="yes-no-min-lines-3"))
    assert [one.valid for one in collect_evidence([yes_no])[0].evidence] == [0, 0]
    left = replace(
        group, patches=(replace(group.patches[0], is_preliminary=True), group.patches[1])
    )
    assert collect_evidence([left, CONSENSUS])[0].evidence[0] == Evidence()


def test_calibrated_run_is_refused():
    group = build_voted_group()
    weighed = replace(group, key=replace(group.key, verifier="r4p-calibrated-0123456789ab"))
    with pytest.raises(ValueError, match="r4p-calibrated-0123456789ab was made with a calibrator"):
        collect_evidence([weighed])
