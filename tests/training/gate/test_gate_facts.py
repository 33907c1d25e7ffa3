"""Candidate and champion on the groups that both answered."""

from dataclasses import replace

import pytest

from app.learning.gate_rules import Rules
from model.errors import EngineError
from tests.builders import tiny_model
from training.evaluation.metrics import GroupReplies
from training.gate import gate_facts


def heard(group, belief, reward):
    return GroupReplies(group, (belief,) * 4, (reward,), 1, 1)


def test_a_comparison_is_paired():
    groups = tiny_model.groups(6)
    right = [one.targets[0] or 0.0 for one in groups]
    pairs = [
        (heard(group, truth, 1.0), heard(group, truth if at else 1 - truth, float(at > 0)))
        for at, (group, truth) in enumerate(zip(groups, right, strict=True))
    ]
    found = gate_facts.compare_groups("benchmark", pairs)
    assert (found.issues, found.groups, found.patches) == (6, 6, 24)
    assert (found.only_candidate, found.only_champion) == (1, 0)
    assert (found.p_differs, found.p_worse) == (1.0, 1.0)
    assert found.difference["reward"].value == pytest.approx(1 / 6)
    assert found.candidate["accuracy"].value == 1.0
    assert found.candidate["accuracy"].low < 0.7, "six issues prove little"


def pairs_of(groups, silent):
    """Right judges of groups; of the first ones the second judge's requests failed."""
    pairs = []
    for at, group in enumerate(groups):
        said = heard(group, group.targets[0] or 0.0, 1.0)
        pairs.append((said, replace(said, rewards=()) if at < silent else said))
    return pairs


def test_some_groups_may_stay_unanswered_and_are_counted():
    found = gate_facts.compare_answered("benchmark", pairs_of(tiny_model.groups(10), 1), Rules())
    assert (found.groups, found.unanswered) == (9, 1)


@pytest.mark.parametrize("silent", [2, 10])
def test_too_many_groups_without_an_answer_decide_nothing(silent):
    said = f"{silent} of the 10 groups of benchmark have no answer of one model; at most 10% may lack one"
    with pytest.raises(EngineError, match=said):
        gate_facts.compare_answered("benchmark", pairs_of(tiny_model.groups(10), silent), Rules())
