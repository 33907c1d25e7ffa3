from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.dispatch import TIME_LIMIT_SECONDS
from app.jobs.job import Queue
from app.learning.model_serving import (
    UNUSED_AFTER,
    Adapter,
    Alias,
    LineUp,
    ModelState,
    choose_judge,
    explain_refusal,
    get_measured_champion,
    get_state_after,
    hash_issue,
    is_unused,
    limit_alias,
)

ISSUES = [f"octo/cat#{number}" for number in range(2_000)]


def adapter(name, verifier="r4p"):
    return Adapter(name, "base", Path(name), "0" * 64, verifier)


CHAMPION, CANARY, SHADOW = adapter("r4p-1"), adapter("r4p-2"), adapter("r4p-3")


def select_canary_issues(share):
    line_up = LineUp(CHAMPION, CANARY, share)
    return {issue for issue in ISSUES if choose_judge(issue, line_up) is CANARY}


def test_without_a_champion_the_model_of_the_settings_judges():
    assert choose_judge("octo/cat#1", LineUp()) is None
    assert choose_judge("octo/cat#1", LineUp(CHAMPION)) is CHAMPION


def test_a_canary_judges_its_share_and_keeps_its_issues_as_it_grows():
    small, large = select_canary_issues(0.1), select_canary_issues(0.2)
    assert 160 <= len(small) <= 240
    assert 340 <= len(large) <= 460
    assert small < large
    assert select_canary_issues(0.0) == set()
    assert select_canary_issues(1.0) == set(ISSUES)


def test_an_issue_has_the_same_place_on_every_machine():
    assert hash_issue("octo/cat#1") == pytest.approx(0.3293, abs=1e-4)


def test_a_canary_may_stand_beside_the_model_of_the_settings():
    assert choose_judge("octo/cat#1", LineUp(canary=CANARY, share=1.0)) is CANARY


def test_an_adapter_judges_only_by_the_prompt_that_it_was_trained_on():
    other = adapter("r4p-4", "yes-no")
    whole = LineUp(other, CANARY, 0.5, SHADOW)
    assert whole.select_verifier("r4p") == LineUp(None, CANARY, 0.5, SHADOW)
    assert whole.select_verifier("yes-no") == LineUp(other, None, 0.5, None)


@pytest.mark.parametrize(
    ("state", "to", "reason"),
    [
        (ModelState.CANDIDATE, Alias.SHADOW, None),
        (ModelState.SHADOW, Alias.CANARY, None),
        (ModelState.CANARY, Alias.CHAMPION, None),
        (ModelState.RETIRED, Alias.CHAMPION, None),
        (ModelState.CANARY, Alias.CANARY, None),
        (ModelState.SHADOW, Alias.SHADOW, "is the shadow already"),
        (ModelState.CHAMPION, Alias.CHAMPION, "is the champion already"),
        (ModelState.CHAMPION, Alias.CANARY, "promote another model in its place"),
        (ModelState.REJECTED, Alias.SHADOW, "was rejected"),
    ],
)
def test_which_model_can_be_given_which_alias(state, to, reason):
    found = explain_refusal("r4p-1", state, to)
    assert found is None if reason is None else reason in found


def test_a_champion_retires_and_others_may_come_again():
    assert [get_state_after(alias) for alias in Alias] == [
        ModelState.RETIRED,
        ModelState.CANDIDATE,
        ModelState.CANDIDATE,
    ]


@pytest.mark.parametrize(
    ("gate", "who"),
    [
        ({}, "nobody"),
        ({"measured": None}, "nobody"),
        ({"measured": {"champion": "base"}}, "qwen"),
        ({"measured": {"champion": "qwen"}}, "qwen"),
        ({"measured": {"champion": "r4p-1"}}, "r4p-1"),
    ],
)
def test_the_gate_names_the_champion_it_compared_with(gate, who):
    assert get_measured_champion(gate, "qwen") == who


def test_no_program_makes_a_champion_of_who_is_good_at_benchmarks_alone():
    assert limit_alias(Alias.CHAMPION, {"by_outcomes": True}) is Alias.CHAMPION
    for gate in ({}, {"by_outcomes": False}):
        assert limit_alias(Alias.CHAMPION, gate) is Alias.CANARY
        assert limit_alias(Alias.SHADOW, gate) is Alias.SHADOW


NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize("state", ModelState)
def test_an_adapter_without_an_alias_is_unused_after_a_while(state):
    has_alias = state in set(Alias)
    assert is_unused(state, NOW - UNUSED_AFTER, NOW, comes_back=False) is not has_alias
    lately = NOW - UNUSED_AFTER + timedelta(seconds=1)
    assert is_unused(state, lately, NOW, comes_back=False) is False


def test_the_model_of_a_rollback_stays_in_the_servers():
    assert is_unused(ModelState.RETIRED, NOW - timedelta(days=9), NOW, comes_back=True) is False


def test_no_verdict_outlives_the_time_after_which_an_adapter_is_unused():
    assert TIME_LIMIT_SECONDS[Queue.VERIFY] < UNUSED_AFTER.total_seconds()
