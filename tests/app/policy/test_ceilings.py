"""What the operator's ceilings leave of an issue's rivals, a repository's settings and a day."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.policy.ceilings import (
    DailyUsage,
    clip_config,
    count_seconds_until_tomorrow,
    explain_reached_ceiling,
    override_ceilings,
    select_excess_pulls,
)
from app.policy.group_policy import CandidateFacts
from app.policy.rival_links import LinkStrength
from app.settings import CeilingSettings
from app.settings.repo_config import AlternativesBudget, JudgeFrom, RepoConfig

CEILINGS = CeilingSettings(
    max_rivals=2,
    max_votes=8,
    max_evaluations_per_repository_day=3,
    max_evaluations_per_installation_day=5,
    max_tokens_per_repository_day=1_000,
    max_tokens_per_installation_day=4_000,
)
CONFIG = RepoConfig(version=1)


def build_facts(number, **changes):
    facts = CandidateFacts(number, "mona", is_open=True, is_draft=False, paths=())
    return replace(facts, **changes)


def test_the_strongest_links_stay_and_then_the_oldest():
    strengths = {
        1: LinkStrength.CROSS_REFERENCE,
        2: LinkStrength.CLOSING,
        3: LinkStrength.CLOSING,
        4: LinkStrength.ADDED,
    }
    assert select_excess_pulls(CONFIG, [*map(build_facts, strengths)], strengths, 2) == {1, 3}


def test_a_pull_request_that_is_left_out_anyway_takes_no_place():
    strengths = dict.fromkeys((1, 2, 3), LinkStrength.CLOSING)
    facts = [build_facts(1, is_draft=True), build_facts(2), build_facts(3)]
    assert select_excess_pulls(CONFIG, facts, strengths, 2) == frozenset()


@pytest.mark.parametrize("judge_from", ["contributors", "approved"])
def test_unapproved_pull_requests_take_no_place_of_approved_ones(judge_from):
    config = CONFIG.model_copy(update={"judge_from": JudgeFrom(judge_from)})
    strangers = [build_facts(number) for number in range(1, 6)]
    approved = [build_facts(number, is_approved=True) for number in (8, 9)]
    facts = [*strangers, *approved]
    strengths = dict.fromkeys(range(1, 6), LinkStrength.CLOSING) | dict.fromkeys(
        (8, 9), LinkStrength.CROSS_REFERENCE
    )
    assert select_excess_pulls(config, facts, strengths, 2) == {1, 2, 3, 4, 5}
    assert select_excess_pulls(config, facts, strengths, 3) == {2, 3, 4, 5}


def test_votes_and_the_agents_tokens_are_clipped_and_smaller_wishes_stay():
    greedy = CONFIG.model_copy(
        update={"votes": 32, "alternatives_budget": AlternativesBudget(tokens=10**9, seconds=60)}
    )
    clipped = clip_config(greedy, CEILINGS)
    assert (clipped.votes, clipped.alternatives_budget.tokens) == (8, 1_000)
    modest = clip_config(CONFIG.model_copy(update={"votes": 2}), CEILINGS)
    assert (modest.votes, modest.quiet_minutes) == (2, 10)


@pytest.mark.parametrize(
    ("usage", "budget"),
    [
        (DailyUsage(repository_evaluations=3), "3 evaluations for this repository"),
        (DailyUsage(installation_evaluations=5), "5 evaluations for this installation"),
        (DailyUsage(repository_tokens=1_001), "1,000 tokens for this repository"),
        (DailyUsage(installation_tokens=4_000), "4,000 tokens for this installation"),
    ],
)
def test_a_used_up_budget_is_named(usage, budget):
    assert budget in explain_reached_ceiling(CEILINGS, usage, is_commanded=True)


def test_below_every_ceiling_nothing_is_used_up():
    usage = DailyUsage(2, 4, 999, 3_999)
    assert explain_reached_ceiling(CEILINGS, usage, is_commanded=True) is None


@pytest.mark.parametrize(
    "usage",
    [
        DailyUsage(installation_evaluations=4),
        DailyUsage(repository_tokens=800),
        DailyUsage(installation_tokens=3_200),
    ],
)
def test_pushes_leave_a_fifth_of_each_budget_to_commands(usage):
    reason = explain_reached_ceiling(CEILINGS, usage, is_commanded=False)
    assert "except the fifth for commands" in reason
    assert explain_reached_ceiling(CEILINGS, usage, is_commanded=True) is None
    below = DailyUsage(2, 3, 799, 3_199)
    assert explain_reached_ceiling(CEILINGS, below, is_commanded=False) is None


def test_an_installation_has_ceilings_of_its_own():
    own = override_ceilings(CEILINGS, {"max_rivals": 9, "max_running": 1})
    assert own == CEILINGS.model_copy(update={"max_rivals": 9})


def test_tomorrow_begins_at_midnight_utc():
    assert count_seconds_until_tomorrow(datetime(2026, 11, 22, 23, 59, 0, tzinfo=UTC)) == 65
