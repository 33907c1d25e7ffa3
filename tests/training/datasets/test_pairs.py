"""Pairs to learn from, and their file."""

from dataclasses import replace

import pytest

from tests.builders import guided_attempts as attempts
from tests.builders.models import tiny_model
from training.datasets import pairs
from training.datasets.pairs import build_preferences
from training.plans.plan import BadPlan


@pytest.fixture
def attempt_pair(tmp_path):
    return attempts.build_judged_pair(tmp_path / "tree")


def test_attempts_survive_a_round_trip(attempt_pair, tmp_path):
    path = tmp_path / "deep" / "attempts.jsonl"
    unjudged = replace(attempt_pair[0], belief=None)
    assert pairs.write_attempts(path, [*attempt_pair, unjudged]) == 3
    assert pairs.read_attempts(path) == [*attempt_pair, unjudged]
    assert pairs.read_attempts(path)[1].identity == attempt_pair[1].identity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is no attempt"),
        (
            '{"format": "r4p.attempt/9"}',
            r"is 'r4p.attempt/9', but this version reads r4p.attempt/1",
        ),
        ('{"format": "r4p.attempt/1", "belief": 1, "issue": "a", "trajectory": {}}', "no attempt"),
    ],
)
def test_invalid_attempts_file_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "attempts.jsonl"
    path.write_text(text)
    with pytest.raises(BadPlan, match=message):
        pairs.read_attempts(path)


def test_missing_attempts_file_is_named_with_its_command(tmp_path):
    with pytest.raises(BadPlan, match="r4p train attempts"):
        pairs.read_attempts(tmp_path / "none.jsonl")
    with pytest.raises(BadPlan, match="--material"):
        pairs.read_attempts(None)


GROUP = replace(tiny_model.build_groups(1)[0], targets=(0.9, 0.1, None, 0.6))


def test_each_correct_patch_is_paired_with_each_incorrect_one():
    paired = build_preferences([GROUP])
    first, second, _, fourth = GROUP.patches
    assert [(one.better, one.worse) for one in paired] == [(first, second), (fourth, second)]
    assert [round(one.margin, 9) for one in paired] == [0.8, 0.5]
    assert {one.issue for one in paired} == {GROUP.issue}


def test_pair_of_several_groups_is_one_pair():
    assert len(build_preferences([GROUP, replace(GROUP, key="again")])) == 2


def test_padding_and_one_sided_groups_make_no_pair():
    padded = replace(GROUP, patches=(GROUP.patches[0], "", "", ""), targets=(1.0, 0.0, 0.0, None))
    assert build_preferences([padded, replace(GROUP, targets=(1.0,) * 4)]) == []
