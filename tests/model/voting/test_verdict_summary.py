"""One line for the verdicts of a group, and the order of its patches."""

import pytest

from model.coverage import Coverage
from model.domain import PatchId, PatchVerdict, Verdict, VoteCount
from model.voting.verdict_summary import join_some, sort_by_verdict, summarise_verdicts


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        ({"a": Verdict.CORRECT, "b": Verdict.INCORRECT}, "a judged correct; b not"),
        ({"a": Verdict.INCORRECT, "b": Verdict.INCORRECT}, "none of 2 patches judged correct"),
        ({"a": Verdict.INCORRECT}, "a judged incorrect"),
        ({"a": Verdict.UNSURE, "b": Verdict.UNSURE}, "no clear answer for 2 patches"),
        ({"a": Verdict.NOT_JUDGED}, "a could not be judged"),
        (
            {"a": Verdict.NOT_JUDGED, "b": Verdict.UNSURE, "c": Verdict.CORRECT},
            "c judged correct; b unsure; a not judged",
        ),
    ],
)
def test_line_names_the_patches(verdicts, line):
    assert summarise_verdicts(verdicts, f"{len(verdicts)} patches") == line


@pytest.mark.parametrize(
    ("names", "text"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")],
)
def test_names_beyond_the_limit_are_counted(names, text):
    assert join_some(names, 3) == text


def test_belief_is_probability_then_rank_then_score():
    def build(name, **beliefs):
        return PatchVerdict(
            PatchId(name), Verdict.UNSURE, VoteCount(), "", Coverage(1, 1), **beliefs
        )

    patches = [
        build("none"),
        build("score", score=0.2),
        build("rank", score=0.9, rank=0.3),
        build("probability", score=0.1, rank=0.0, probability=0.4),
        build("also", score=0.2),
    ]
    order = [patch.id for patch in sort_by_verdict(patches)]
    assert order == ["probability", "rank", "score", "also", "none"]
