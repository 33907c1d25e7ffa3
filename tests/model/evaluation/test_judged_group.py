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


def said(name, verdict, score):
    votes = VoteCount(1, 0, 1)
    return PatchVerdict(PatchId(name), verdict, votes, "", Coverage(1, 1), score=score)


def verdict_on(*patches):
    return GroupVerdict(patches, ENGINE, (cast_vote([]),), 2, (), Tokens(9, 4, 2), 1.5, 2.0)


KEY = JudgementKey(GROUP.id, "r4p", ENGINE, 2)
BOTH = verdict_on(
    said("candidate-2", Verdict.INCORRECT, 0.0), said("candidate-1", Verdict.CORRECT, 1.0)
)


def test_each_patch_gets_what_was_said_of_it_whatever_the_order():
    one = build_judged_group(GROUP, BOTH, KEY)
    assert [(p.id, p.resolved, p.score) for p in one.patches] == [
        ("candidate-1", True, 1.0),
        ("candidate-2", False, 0.0),
    ]
    assert (one.patches[0].source, one.patches[0].also_from) == ("one/run", ("two/run",))
    assert (one.language, one.repo, one.asked, one.valid) == ("java", "octo/app", 2, 1)
    assert (one.total_seconds, one.tokens.cached) == (2.0, 4)
    assert 0.9 < one.similarity < 1


def test_edited_lines_are_counted_where_there_is_a_diff():
    odd = LabelledGroup(
        "i", "r", GROUP.issue, (LabelledPatch(build_patch("candidate-1", "a"), True, None),)
    )
    assert (
        build_judged_group(odd, verdict_on(said("candidate-1", Verdict.UNSURE, None)), KEY)
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
    one = build_judged_group(group, verdict_on(said("candidate-1", Verdict.NOT_JUDGED, None)), KEY)
    assert one.patches[0].edited_lines is None
    assert one.similarity is None


def test_probabilities_of_some_only_are_not_mixed_with_scores_of_others():
    one, other = BOTH.patches
    some = build_judged_group(
        GROUP, verdict_on(replace(one, probability=0.7), other), KEY, calibrated=True
    )
    assert [p.belief for p in some.patches] == [None, 0.7]
    assert [p.score for p in some.patches] == [None, 0.0]
    assert [p.belief for p in build_judged_group(GROUP, BOTH, KEY, calibrated=True).patches] == [
        None,
        None,
    ]


def test_who_only_drew_up_the_shortlist_is_kept_with_the_score():
    one, other = BOTH.patches
    made = build_judged_group(GROUP, verdict_on(replace(one, is_preliminary=True), other), KEY)
    assert [p.is_preliminary for p in parse_line(dump_line(made)).patches] == [False, True]


def test_a_verdict_that_lacks_a_patch_is_refused():
    with pytest.raises(KeyError):
        build_judged_group(GROUP, verdict_on(said("candidate-1", Verdict.CORRECT, 1.0)), KEY)


def test_a_line_is_read_again_and_another_refused():
    one = build_judged_group(GROUP, BOTH, KEY)
    assert parse_line(dump_line(one)) == one
    assert b"\n" not in dump_line(one)
    with pytest.raises(ValueError, match="key: Field required"):
        parse_line(b"{}")
    with pytest.raises(ValueError, match="the line: Invalid JSON"):
        parse_line(b"{")


def test_forced_votes_are_counted_among_the_readable_ones():
    votes = [cast_vote([], forced=True), cast_vote(None, forced=True), cast_vote([])]
    group = make_judged_group("a", (0.5, True), votes=votes, asked=4)
    assert (group.asked, group.valid, group.forced) == (4, 2, 1)
