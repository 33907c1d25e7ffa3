"""The evaluation document: valid by its own schema, and true to the judged groups."""

import json
from importlib.resources import files

import jsonschema_rs
import pytest

from model.evaluation.evaluation_document import build_document
from model.evaluation.metrics import METRICS
from tests.model.evaluation.builders import cast_vote, make_judged_group, set_edits

SCHEMA = json.loads((files("model.evaluation") / "evaluate.schema.json").read_text())


def some(count=12):
    return [
        make_judged_group(
            f"issue-{at}",
            (0.9, at % 3 > 0),
            (0.2, at % 4 == 0),
            votes=[cast_vote([])],
            asked=2,
            seconds=at + 1,
        )
        for at in range(count)
    ]


@pytest.mark.parametrize("judged", [some(), some(1), [make_judged_group("a", (None, True))]])
def test_it_is_valid_and_plain_json(judged):
    made = build_document(judged)
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(made, allow_nan=False)))
    assert set(METRICS) <= set(made)


def test_it_says_what_was_judged_and_by_whom():
    made = build_document(some())
    assert (made["issues"], made["groups"], made["patches"]) == (12, 12, 24)
    assert made["correct_patches"] == 11
    assert (made["verifier"], made["engine"]["model"], made["votes"]) == ("r4p", "script", 1)
    assert made["calibrated"] is False
    assert made["tokens"] == {"prompt": 120, "cached": 24, "completion": 36}
    assert made["format_valid"] == {"value": 0.5, "low": 0.5, "high": 0.5}


def test_each_metric_lies_in_its_interval_beside_what_a_constant_gets():
    made = build_document(some())
    accuracy = made["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    assert accuracy["value"] == round(17 / 24, 6)
    assert made["constant_baselines"]["all_correct"]["accuracy"]["value"] == round(11 / 24, 6)
    assert made["constant_baselines"]["none_correct"]["accuracy"]["value"] == round(13 / 24, 6)
    assert made["constant_baselines"]["random"]["exact_match"]["value"] == 0.25
    assert made["best_of_group"]["value"] == round(8 / 12, 6)
    assert made["best_at_k"][-1] == {"k": 2, "value": round(8 / 12, 6)}


def test_seconds_are_shared_by_the_patches_of_a_group():
    seconds = build_document(some())["seconds_per_patch"]
    assert (seconds["mean"], seconds["p50"]) == (3.25, 3.25)
    assert seconds["p95"] == pytest.approx(5.925)


def test_the_reliability_diagram_holds_every_patch_once():
    bins = build_document(some())["reliability"]
    assert [(one["patches"], one["belief"]) for one in bins] == [(12, 0.2), (12, 0.9)]
    assert [one["correct"] for one in bins] == [0.25, round(8 / 12, 6)]


def test_who_has_no_opinion_stands_in_no_bin_and_is_counted():
    silent = make_judged_group("silent", (None, True), (None, False), (0.2, False))
    made = build_document([*some(), silent])
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(made)))
    assert made["without_belief"] == 2
    assert [one["patches"] for one in made["reliability"]] == [13, 12]
    assert build_document(some())["without_belief"] == 0


def test_the_majority_stands_beside_where_edits_are_told():
    assert build_document(some())["majority"] is None
    made = build_document([set_edits(one, "aa") for one in some()])
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(made)))
    found = made["majority"]["best_of_group"]
    assert found["value"] == made["random"]["value"]  # both patches make the one edit
    assert found["low"] < found["value"] < found["high"]
    assert made["majority"]["best_at_k"][-1] == {"k": 2, "value": found["value"]}
