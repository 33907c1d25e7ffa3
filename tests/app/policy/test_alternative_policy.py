from dataclasses import replace

import pytest

from app.policy.alternative_policy import (
    MOST_A_DAY,
    MOST_ATTEMPTS,
    AttemptSummary,
    Cost,
    NoAttempt,
    RefusalReason,
    Remark,
    SeatCandidate,
    Situation,
    choose_best,
    choose_second_attempts,
    count_seats,
    count_wanted,
    find_new_edits,
    format_alternative_id,
    get_remaining_budget,
    keep_seats,
    map_stop_reason,
)
from app.settings.repo_config import Alternatives, AlternativesBudget, RepoConfig
from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import StopReason
from model.domain import Coverage, PatchVerdict, Verdict, VoteCount

NOW = Situation(pulls=1, tried=0, spent=Cost(), has_agent=True)


def config(alternatives=Alternatives.OFF, **budget):
    chosen = AlternativesBudget(**budget)
    return RepoConfig(version=1, alternatives=alternatives, alternatives_budget=chosen)


@pytest.mark.parametrize(
    ("setting", "pulls", "tried", "count"),
    [
        ("off", 1, 0, 0),
        ("fill", 0, 0, 0),
        ("fill", 1, 0, 3),
        ("fill", 1, 2, 1),
        ("fill", 2, 2, 0),
        ("fill", 3, 0, 1),
        ("fill", 4, 0, 0),
        ("fill", 9, 0, 0),
        (2, 0, 0, 0),
        (2, 1, 0, 2),
        (2, 9, 1, 1),
        (2, 1, 3, 0),
    ],
)
def test_the_settings_say_how_many_stand_beside_pull_requests(setting, pulls, tried, count):
    assert count_wanted(config(setting), replace(NOW, pulls=pulls, tried=tried)) == count


@pytest.mark.parametrize(
    ("setting", "pulls", "tried", "count"), [("off", 0, 0, 1), ("off", 5, 7, 1), ("fill", 1, 0, 3)]
)
def test_a_command_gets_an_alternative_whatever_is_configured(setting, pulls, tried, count):
    asked = replace(NOW, pulls=pulls, tried=tried, asked=True)
    assert count_wanted(config(setting), asked) == count


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"has_agent": False}, RefusalReason.NO_AGENT),
        ({"spent": Cost(tokens=200_000)}, RefusalReason.BUDGET),
        ({"spent": Cost(seconds=3_600.5)}, RefusalReason.BUDGET),
        ({"tried": MOST_ATTEMPTS}, RefusalReason.ENOUGH),
        ({"today": MOST_A_DAY}, RefusalReason.ENOUGH),
    ],
)
def test_a_refusal_says_why_to_whoever_asks_and_to_nobody_else(change, reason):
    situation = replace(NOW, **change)
    assert count_wanted(config(), replace(situation, asked=True)) == NoAttempt(reason)
    assert count_wanted(config(), situation) == 0


def test_a_budget_of_nothing_forbids_all():
    asked = replace(NOW, asked=True)
    assert count_wanted(config(tokens=0), asked) == NoAttempt(RefusalReason.BUDGET)
    assert count_wanted(config("fill", seconds=0), NOW) == NoAttempt(RefusalReason.BUDGET)


@pytest.mark.parametrize(
    ("setting", "asked", "count"), [("off", False, 2), ("off", True, 3), (3, False, 5)]
)
def test_second_attempts_that_are_due_come_on_top(setting, asked, count):
    assert count_wanted(config(setting), replace(NOW, asked=asked, due=2)) == count


def test_no_more_attempts_are_made_than_there_is_room_for():
    late = replace(NOW, tried=MOST_ATTEMPTS - 1, asked=True)
    assert count_wanted(config("fill"), late) == 1
    assert count_wanted(config("fill"), replace(NOW, today=MOST_A_DAY - 2)) == 2


def test_the_remaining_budget_is_never_negative():
    small = config(tokens=100, seconds=60)
    assert get_remaining_budget(small, Cost(30, 12.5)) == Cost(70, 47.5)
    assert get_remaining_budget(small, Cost(130, 99.0)) == Cost(0, 0.0)


def test_every_end_without_a_patch_has_its_reason():
    assert map_stop_reason(StopReason.SUBMITTED) is None
    assert all(map_stop_reason(stop) for stop in StopReason if stop is not StopReason.SUBMITTED)


def test_only_what_is_not_the_agents_fault_is_tried_again():
    passing = {
        RefusalReason.NO_BASE,
        RefusalReason.NO_TREE,
        RefusalReason.CRASHED,
        RefusalReason.NOBODY,
        RefusalReason.ENGINE,
    }
    assert {reason for reason in RefusalReason if reason.is_temporary} == passing


def test_an_alternative_is_called_by_its_number():
    assert format_alternative_id(3) == "A3"


def diff(line):
    return f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+{line}\n"


def test_an_edit_that_a_rival_or_an_earlier_attempt_makes_is_not_new():
    rivals = [diff("x = 2"), None]
    attempts = [diff("x = 2"), None, diff("x = 3"), diff("x = 3"), diff("x = 4")]
    assert find_new_edits(rivals, attempts) == (2, 4)
    assert find_new_edits([], attempts) == (0, 2, 4)


def build_verdict(name, verdict=Verdict.CORRECT, votes=(4, 0), probability=None):
    return PatchVerdict(name, verdict, VoteCount(*votes), "", Coverage(1, 1), probability)


@pytest.mark.parametrize(
    ("patches", "chosen"),
    [
        ([], None),
        ([build_verdict("A1", Verdict.INCORRECT), build_verdict("A2", Verdict.UNSURE)], None),
        ([build_verdict("A1", Verdict.INCORRECT), build_verdict("A2")], "A2"),
        ([build_verdict("A1"), build_verdict("A2")], "A1"),
        ([build_verdict("A1", votes=(3, 1)), build_verdict("A2")], "A2"),
        (
            [
                build_verdict("A1", probability=0.7),
                build_verdict("A2", votes=(3, 1), probability=0.8),
            ],
            "A2",
        ),
        ([build_verdict("A1"), build_verdict("A2", probability=0.6)], "A2"),
        ([build_verdict("A1", votes=(0, 0)), build_verdict("A2", votes=(3, 1))], "A2"),
    ],
)
def test_the_likeliest_of_the_correct_ones_is_offered(patches, chosen):
    assert choose_best(patches) == chosen


@pytest.mark.parametrize(
    ("setting", "pulls", "more", "free"),
    [
        ("fill", 1, 0, 3),
        ("fill", 1, 1, 2),
        ("fill", 2, 0, 2),
        ("fill", 5, 0, 0),
        ("fill", 4, 1, 0),
        ("off", 1, 0, 3),
        ("off", 5, 0, 1),
        (3, 2, 0, 3),
        (1, 2, 0, 2),
    ],
)
def test_a_group_has_four_seats_and_who_asks_for_more_gets_them(setting, pulls, more, free):
    assert count_seats(config(setting), pulls, more) == free


SEAT = SeatCandidate(is_new=False, is_replaced=False)


@pytest.mark.parametrize(
    ("alternatives", "free", "kept"),
    [
        ([SEAT, SEAT, SEAT], 3, (0, 1, 2)),
        ([SEAT, SEAT, SEAT], 2, (0, 1)),
        ([SEAT, SEAT], 0, ()),
        ([replace(SEAT, is_new=True), SEAT], 1, (1,)),
        ([replace(SEAT, is_replaced=True), SEAT], 1, (1,)),
        ([replace(SEAT, verdict=build_verdict("A1", Verdict.INCORRECT)), SEAT], 1, (1,)),
        (
            [
                replace(SEAT, verdict=build_verdict("A1", votes=(3, 1))),
                replace(SEAT, verdict=build_verdict("A2", probability=0.4)),
                replace(SEAT, verdict=build_verdict("A3", probability=0.9)),
                replace(SEAT, verdict=build_verdict("A4")),
            ],
            2,
            (1, 2),
        ),
    ],
)
def test_replaced_and_least_believed_alternatives_lose_their_seats(alternatives, free, kept):
    assert keep_seats(alternatives, free) == kept


ONE = AttemptSummary(1, Verdict.INCORRECT, is_second=False, has_second=False)
TWO = replace(ONE, number=2)
VERDICT = Remark(HintSource.VERDICT)


def again(alternatives, remark, setting="fill", **changes):
    return choose_second_attempts(config(setting), alternatives, remark, replace(NOW, **changes))


def test_an_incorrect_alternative_is_tried_once_more():
    unsure = replace(TWO, number=3, verdict=Verdict.UNSURE)
    assert again([ONE, TWO, unsure], VERDICT) == (1, 2)


def test_our_verdict_alone_costs_nothing_where_alternatives_are_off():
    assert again([ONE], VERDICT, "off") == ()


@pytest.mark.parametrize("change", [{"is_second": True}, {"has_second": True}])
def test_there_is_one_second_attempt_and_no_third(change):
    spent = replace(ONE, **change)
    assert again([spent, TWO], VERDICT) == (2,)
    assert again([spent], Remark(HintSource.MAINTAINER, 1)) == ()


@pytest.mark.parametrize("source", [HintSource.MAINTAINER, HintSource.CHECK])
def test_a_remark_that_names_an_alternative_leads_to_a_second_attempt(source):
    correct = replace(ONE, verdict=Verdict.CORRECT)
    assert again([correct, TWO], Remark(source, 1), "off") == (1,)
    assert again([correct, TWO], Remark(source, 7), "off") == ()


def test_words_that_name_no_patch_are_about_ours_only_where_there_is_no_other():
    said = Remark(HintSource.MAINTAINER)
    assert again([ONE], said, pulls=0) == (1,)
    assert again([ONE, TWO], said, pulls=0) == ()
    assert again([ONE], said, pulls=1) == ()


def test_second_attempts_are_paid_from_the_same_budget():
    poor = {"spent": Cost(tokens=200_000)}
    assert again([ONE], VERDICT, **poor) == NoAttempt(RefusalReason.BUDGET)
    assert again([], VERDICT, **poor) == ()
    assert again([ONE, TWO], VERDICT, tried=MOST_ATTEMPTS - 1) == (1,)
