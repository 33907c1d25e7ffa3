from dataclasses import replace

import pytest

from app.learning.canary import CanaryLimits, CanaryStatistics, find_canary_problem

FINE = CanaryStatistics(
    judged=20, asked=80, valid=78, patches=80, correct=24, overturned=1, seconds=400
)
USUAL = CanaryStatistics(
    judged=200, asked=800, valid=790, patches=800, correct=240, overturned=8, seconds=4000
)


def test_a_canary_like_the_others_goes_on():
    assert find_canary_problem(FINE, USUAL, CanaryLimits()) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"valid": 60}, "60 of its 80 votes are readable"),
        ({"correct": 76}, "it calls 76 of 80 patches correct, where others call 240 of 800"),
        ({"correct": 2, "overturned": 0}, "it calls 2 of 80 patches correct"),
        ({"overturned": 8}, "8 of the 24 patches that it called correct were overturned"),
        ({"seconds": 1300}, "it takes 65 seconds for an issue, others take 20"),
    ],
)
def test_a_canary_unlike_the_others_is_taken_out(changes, reason):
    assert reason in find_canary_problem(replace(FINE, **changes), USUAL, CanaryLimits())


@pytest.mark.parametrize(
    ("canary", "others"),
    [
        (CanaryStatistics(), CanaryStatistics()),
        (
            CanaryStatistics(judged=5, asked=20, valid=0, patches=20, correct=20, seconds=9_999),
            USUAL,
        ),
        (replace(FINE, correct=76), replace(USUAL, patches=30, correct=3)),
        (replace(FINE, overturned=8), replace(USUAL, correct=0, patches=0)),
        (replace(FINE, overturned=1, correct=25), USUAL),
        (replace(FINE, overturned=2), USUAL),
        (replace(FINE, seconds=9_999), replace(USUAL, judged=5)),
    ],
)
def test_too_little_to_tell_is_no_reason(canary, others):
    assert find_canary_problem(canary, others, CanaryLimits()) is None
