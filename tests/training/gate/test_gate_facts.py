"""Candidate and champion on the groups that both answered."""

from dataclasses import replace

import pytest

from app.learning.gate_rules import Rules
from model.errors import EngineError
from tests.builders.models import tiny_model
from training.evaluation.metrics import GroupReplies
from training.gate import gate_facts


def build_replies(group, belief, reward):
    return GroupReplies(group, (belief,) * 4, (reward,), 1, 1)


def test_comparison_is_paired():
    groups = tiny_model.build_groups(6)
    right = [one.targets[0] or 0.0 for one in groups]
    pairs = [
        (
            build_replies(group, truth, 1.0),
            build_replies(group, truth if at else 1 - truth, float(at > 0)),
        )
        for at, (group, truth) in enumerate(zip(groups, right, strict=True))
    ]
    comparison = gate_facts.compare_groups("benchmark", pairs)
    assert (comparison.issues, comparison.groups, comparison.patches) == (6, 6, 24)
    assert (comparison.only_candidate, comparison.only_champion) == (1, 0)
    assert (comparison.p_differs, comparison.p_worse) == (1.0, 1.0)
    assert comparison.difference["reward"].value == pytest.approx(1 / 6)
    assert comparison.candidate["accuracy"].value == 1.0
    assert comparison.candidate["accuracy"].low < 0.7, "six issues prove little"


def build_pairs(groups, silent):
    """Right judges of groups; of the first ones the second judge's requests failed."""
    pairs = []
    for at, group in enumerate(groups):
        message = build_replies(group, group.targets[0] or 0.0, 1.0)
        pairs.append((message, replace(message, rewards=()) if at < silent else message))
    return pairs


def test_few_unanswered_groups_are_counted():
    comparison = gate_facts.compare_answered(
        "benchmark", build_pairs(tiny_model.build_groups(10), 1), Rules()
    )
    assert (comparison.groups, comparison.unanswered) == (9, 1)


@pytest.mark.parametrize("silent", [2, 10])
def test_too_many_unanswered_groups_are_an_engine_error(silent):
    message = f"{silent} of the 10 groups of benchmark have no answer of one model; at most 10% may lack one"
    with pytest.raises(EngineError, match=message):
        gate_facts.compare_answered(
            "benchmark", build_pairs(tiny_model.build_groups(10), silent), Rules()
        )
