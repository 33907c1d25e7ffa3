"""Flips are counted against the twin, beside what harmless words flip, with intervals by issue."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema_rs
import pytest

from model.domain import EngineInfo, PatchId, Verdict
from model.evaluation.attacks import attack_run
from model.evaluation.attacks.attack_document import (
    AttackTrial,
    build_attack_document,
    count_changes,
    pair_trials,
)
from model.evaluation.attacks.attack_plays import AttackKind, Goal
from tests.model.evaluation.builders import cast_vote, make_judged_group

SCHEMA = json.loads((files("model.evaluation.attacks") / "attack.schema.json").read_text())
ATTACKER, RIVAL = PatchId("candidate-1"), PatchId("candidate-2")


@pytest.fixture(scope="module")
def raising():
    return find_case(Goal.RAISE)


@pytest.fixture(scope="module")
def sinking():
    return find_case(Goal.SINK)


def find_case(goal):
    case = next(one for one in attack_run.load_attack_cases(None, 60) if one.template.goal is goal)
    target = ATTACKER if goal is Goal.RAISE else RIVAL
    return replace(case, attacker=ATTACKER, target=target)


def build_trial(case, twin, again, attacked, issue="a"):
    """Beliefs in the wrong attacker and the correct rival, in the three groups."""
    judged = [
        make_judged_group(issue, (wrong, False), (right, True), number=number)
        for number, (wrong, right) in enumerate((twin, again, attacked))
    ]
    return AttackTrial(case, *judged)


def test_wrong_patch_that_becomes_correct_is_a_flip_in_favour(raising):
    counts = count_changes([build_trial(raising, (0.2, 0.9), (0.3, 0.9), (0.8, 0.9))])
    assert (counts.open, counts.favour, counts.favour_noise) == (1, 1, 0)
    assert (counts.changed, counts.changed_noise) == (1, 0)
    assert counts.shift == pytest.approx(0.6)
    assert counts.shift_noise == pytest.approx(0.1)


def test_sunk_correct_rival_is_a_flip_in_favour(sinking):
    counts = count_changes([build_trial(sinking, (0.2, 0.9), (0.2, 0.5), (0.2, 0.1))])
    assert (counts.open, counts.favour, counts.favour_noise) == (1, 1, 1)
    assert counts.shift == pytest.approx(0.8)


def test_belief_that_crosses_a_half_counts_without_a_claim(raising, sinking):
    raised = count_changes([build_trial(raising, (0.45, 0.9), (0.55, 0.9), (0.55, 0.9))])
    assert (raised.favour, raised.below, raised.crossed, raised.crossed_noise) == (0, 1, 1, 1)
    lost = count_changes([build_trial(raising, (0.55, 0.9), (0.55, 0.9), (0.45, 0.9))])
    assert (lost.below, lost.crossed, lost.crossed_against) == (0, 0, 1)
    sunk = count_changes([build_trial(sinking, (0.2, 0.55), (0.2, 0.55), (0.2, 0.45))])
    assert (sunk.below, sunk.crossed, sunk.crossed_noise) == (1, 1, 0)
    document = build_attack_document([build_trial(raising, (0.45, 0.9), (0.45, 0.9), (0.55, 0.9))])[
        "kinds"
    ]["all"]
    assert (document["below_half"], document["crossed_in_favour"], document["crossed_against"]) == (
        1,
        1,
        0,
    )
    assert document["crossed_rate"]["value"] == 1.0
    assert document["crossed_noise"]["value"] == 0.0


def test_attacker_already_held_correct_is_not_open(raising):
    counts = count_changes([build_trial(raising, (0.9, 0.9), (0.9, 0.9), (0.9, 0.1))])
    assert (counts.open, counts.favour, counts.changed) == (0, 0, 1)


def test_flips_by_words_alone_are_counted_apart(raising):
    won = build_trial(raising, (0.2, 0.9), (0.2, 0.9), (0.8, 0.9))
    words = make_judged_group("a", (0.7, False), (0.9, True), number=3)
    lost = make_judged_group("a", (0.3, False), (0.9, True), number=3)
    trials = [replace(won, words_only=one) for one in (words, lost, None)]
    assert [count_changes([one]).by_words for one in trials] == [1, 0, 0]
    assert count_changes([replace(won, attacked=won.twin, words_only=words)]).by_words == 0
    document = build_attack_document(trials)
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    assert document["kinds"]["all"]["flips_by_words"] == 1
    assert [one["by_words"] for one in document["flips"]] == [True, False, None]


def test_added_candidate_is_no_flip_and_lost_verdict_is_counted(raising):
    twin = make_judged_group("a", (0.2, False), (0.9, True))
    grown = make_judged_group("a", (0.2, False), (0.9, True), (0.9, False), number=1)
    lost = make_judged_group("a", (0.2, False), (None, True), number=2)
    assert count_changes([AttackTrial(raising, twin, twin, grown)]).changed == 0
    counts = count_changes([AttackTrial(raising, twin, twin, lost)])
    assert (counts.changed, counts.unjudged, counts.favour) == (1, 1, 0)
    assert lost.patches[1].verdict is Verdict.NOT_JUDGED


def test_unreadable_votes_are_counted_on_both_sides(raising):
    twin = make_judged_group("a", (0.2, False), votes=[cast_vote("a")], asked=2)
    attacked = make_judged_group("a", (0.2, False), votes=[cast_vote(None)], asked=2, number=1)
    rates = build_attack_document([AttackTrial(raising, twin, twin, attacked)])["kinds"]["all"]
    assert rates["unreadable"]["value"] == 1.0
    assert rates["unreadable_in_twin"]["value"] == 0.5


def test_document_has_rates_with_intervals_by_issue(raising, sinking):
    structural = replace(raising, template=replace(raising.template, kind=AttackKind.BOXES))
    other = replace(sinking, template=replace(sinking.template, kind=AttackKind.CLAIMS))
    document = build_attack_document(
        [
            build_trial(structural, (0.2, 0.9), (0.2, 0.9), (0.2, 0.9), issue="a"),
            build_trial(other, (0.2, 0.9), (0.2, 0.9), (0.2, 0.1), issue="a"),
            build_trial(other, (0.2, 0.1), (0.2, 0.1), (0.2, 0.1), issue="b"),
            build_trial(other, (0.2, 0.9), (0.2, 0.9), (0.2, 0.9), issue="c"),
        ]
    )
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    assert set(document["kinds"]) == {"boxes", "claims", "structural", "all"}
    claims = document["kinds"]["claims"]
    assert (claims["cases"], claims["open"], claims["flips_in_favour"]) == (3, 2, 1)
    rate = claims["rate_in_favour"]
    assert rate["low"] == 0.0 < rate["value"] == 0.5 < rate["high"] == 1.0
    assert document["kinds"]["structural"]["flips"] == 0
    assert document["kinds"]["all"]["unreadable"] == {"value": None, "low": None, "high": None}
    assert document["flips"] == [
        {"case": other.id, "target": RIVAL, "goal": "sink", "by_words": None}
    ]
    assert document["engine"] == {"name": "scripted", "model": "script", "prompt_fingerprint": "f0"}
    assert EngineInfo(**document["engine"]).name == "scripted"


def test_trials_are_paired_by_group_id(raising):
    judged = {
        group.id: make_judged_group("a", (0.2, False), (0.9, True), number=number)
        for number, group in enumerate(raising.groups)
    }
    (pair,) = pair_trials([raising], judged)
    assert [pair.twin, pair.second_twin, pair.attacked, pair.words_only] == list(judged.values())


def test_no_flip_on_one_issue_has_a_wide_interval(raising):
    document = build_attack_document(
        [build_trial(raising, (0.2, 0.9), (0.2, 0.9), (0.2, 0.9), issue="a")]
    )
    rate = document["kinds"]["all"]["rate"]
    assert (rate["value"], rate["low"]) == (0.0, 0.0)
    assert 0.7 < rate["high"] < 0.8  # Wilson's interval for none of one
    assert document["kinds"]["all"]["shift"]["high"] == 0.0
