"""Truth and opinion side by side."""

from dataclasses import replace

import pytest

from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    Issue,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    VoteCount,
)
from model.evaluation.judged_group import JudgementKey, build_judged_group, dump_line, parse_line
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch
from tests.model.builders import build_diff, build_patch
from tests.model.evaluation.builders import cast_vote, make_judged_group

ENGINE = EngineInfo("scripted", "script", "f")
GROUP = LabelledGroup(
    "octo__app-1",
    "octo/app",
    Issue("It breaks", ""),
    (
        LabelledPatch(build_patch("candidate-1", "a"), True, "one/run", ("two/run",)),
        LabelledPatch(build_patch("candidate-2", "b"), False, None),
    ),
    "java",
)


def build_verdict(name, verdict, score):
    votes = VoteCount(1, 0, 1)
    return PatchVerdict(PatchId(name), verdict, votes, "", Coverage(1, 1), score=score)


def build_group_verdict(*patches):
    return GroupVerdict(patches, ENGINE, (cast_vote([]),), 2, (), Tokens(9, 4, 2), 1.5, 2.0)


KEY = JudgementKey(GROUP.id, "r4p", ENGINE, 2)
BOTH = build_group_verdict(
    build_verdict("candidate-2", Verdict.INCORRECT, 0.0),
    build_verdict("candidate-1", Verdict.CORRECT, 1.0),
)


def test_patch_gets_its_verdict_in_any_order():
    judged = build_judged_group(GROUP, BOTH, KEY)
    assert [(p.id, p.resolved, p.score) for p in judged.patches] == [
        ("candidate-1", True, 1.0),
        ("candidate-2", False, 0.0),
    ]
    assert (judged.patches[0].source, judged.patches[0].also_from) == ("one/run", ("two/run",))
    assert (judged.language, judged.repo, judged.asked, judged.valid) == ("java", "octo/app", 2, 1)
    assert (judged.total_seconds, judged.tokens.cached) == (2.0, 4)
    assert 0.9 < judged.similarity < 1


def test_edited_lines_are_counted_for_a_diff():
    odd = LabelledGroup(
        "i", "r", GROUP.issue, (LabelledPatch(build_patch("candidate-1", "a"), True, None),)
    )
    assert (
        build_judged_group(
            odd, build_group_verdict(build_verdict("candidate-1", Verdict.UNSURE, None)), KEY
        )
        .patches[0]
        .edited_lines
        == build_diff("a").count("\n") - 4
    )
    bad = LabelledPatch(
        patch=type(odd.patches[0].patch)(PatchId("candidate-1"), "no diff"),
        resolved=True,
        source=None,
    )
    group = LabelledGroup("i", "r", GROUP.issue, (bad,))
    judged = build_judged_group(
        group, build_group_verdict(build_verdict("candidate-1", Verdict.NOT_JUDGED, None)), KEY
    )
    assert judged.patches[0].edited_lines is None
    assert judged.similarity is None


def test_probabilities_are_not_mixed_with_scores():
    judged, second = BOTH.patches
    some = build_judged_group(
        GROUP, build_group_verdict(replace(judged, probability=0.7), second), KEY, calibrated=True
    )
    assert [p.belief for p in some.patches] == [None, 0.7]
    assert [p.score for p in some.patches] == [None, 0.0]
    assert [p.belief for p in build_judged_group(GROUP, BOTH, KEY, calibrated=True).patches] == [
        None,
        None,
    ]


def test_preliminary_score_is_marked():
    judged, second = BOTH.patches
    judged_group = build_judged_group(
        GROUP, build_group_verdict(replace(judged, is_preliminary=True), second), KEY
    )
    assert [p.is_preliminary for p in parse_line(dump_line(judged_group)).patches] == [False, True]


def test_verdict_that_lacks_a_patch_is_refused():
    with pytest.raises(KeyError):
        build_judged_group(
            GROUP, build_group_verdict(build_verdict("candidate-1", Verdict.CORRECT, 1.0)), KEY
        )


def test_line_survives_a_round_trip():
    judged = build_judged_group(GROUP, BOTH, KEY)
    assert parse_line(dump_line(judged)) == judged
    assert b"\n" not in dump_line(judged)
    with pytest.raises(ValueError, match="key: Field required"):
        parse_line(b"{}")
    with pytest.raises(ValueError, match="the line: Invalid JSON"):
        parse_line(b"{")


def test_forced_votes_count_as_valid():
    votes = [cast_vote([], forced=True), cast_vote(None, forced=True), cast_vote([])]
    group = make_judged_group("a", (0.5, True), votes=votes, asked=4)
    assert (group.asked, group.valid, group.count_forced_votes()) == (4, 2, 1)
