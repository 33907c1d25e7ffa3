"""The evaluation document: valid by its own schema, and true to the judged groups."""

import json
from importlib.resources import files

import jsonschema_rs
import pytest

from model.evaluation.evaluation_document import build_document
from model.evaluation.metrics import METRICS
from tests.model.evaluation.builders import cast_vote, make_judged_group, set_edits

SCHEMA = json.loads((files("model.evaluation") / "evaluate.schema.json").read_text())


def build_groups(count=12):
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


@pytest.mark.parametrize(
    "judged", [build_groups(), build_groups(1), [make_judged_group("a", (None, True))]]
)
def test_document_is_valid_json_by_its_schema(judged):
    document = build_document(judged)
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(document, allow_nan=False)))
    assert set(METRICS) <= set(document)


def test_document_names_the_judge_and_counts():
    document = build_document(build_groups())
    assert (document["issues"], document["groups"], document["patches"]) == (12, 12, 24)
    assert document["correct_patches"] == 11
    assert (document["verifier"], document["engine"]["model"], document["votes"]) == (
        "r4p",
        "script",
        1,
    )
    assert document["calibrated"] is False
    assert document["tokens"] == {"prompt": 120, "cached": 24, "completion": 36}
    assert document["format_valid"] == {"value": 0.5, "low": 0.5, "high": 0.5}


def test_pair_accuracy_is_the_mean_over_mixed_groups():
    # 0 is lost; 1, 2, 5, 7, 10 and 11 are won; the other groups hold no pair
    accuracy = build_document(build_groups())["pair_accuracy"]
    assert accuracy["value"] == round(6 / 7, 6)
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert build_document([make_judged_group("a", (0.9, True))])["pair_accuracy"] is None


def test_metric_lies_in_its_interval_beside_the_constants():
    document = build_document(build_groups())
    accuracy = document["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    assert accuracy["value"] == round(17 / 24, 6)
    assert document["constant_baselines"]["all_correct"]["accuracy"]["value"] == round(11 / 24, 6)
    assert document["constant_baselines"]["none_correct"]["accuracy"]["value"] == round(13 / 24, 6)
    assert document["constant_baselines"]["random"]["exact_match"]["value"] == 0.25
    assert document["best_of_group"]["value"] == round(8 / 12, 6)
    assert document["best_at_k"][-1] == {"k": 2, "value": round(8 / 12, 6)}


def test_seconds_are_shared_by_the_patches_of_a_group():
    seconds = build_document(build_groups())["seconds_per_patch"]
    assert (seconds["mean"], seconds["p50"]) == (3.25, 3.25)
    assert seconds["p95"] == pytest.approx(5.925)


def test_reliability_has_every_patch_once():
    bins = build_document(build_groups())["reliability"]
    assert [(one["patches"], one["belief"]) for one in bins] == [(12, 0.2), (12, 0.9)]
    assert [one["correct"] for one in bins] == [0.25, round(8 / 12, 6)]


def test_patch_without_a_belief_is_in_no_bin_and_counted():
    silent = make_judged_group("silent", (None, True), (None, False), (0.2, False))
    document = build_document([*build_groups(), silent])
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(document)))
    assert document["without_belief"] == 2
    assert [one["patches"] for one in document["reliability"]] == [13, 12]
    assert build_document(build_groups())["without_belief"] == 0


def test_majority_is_reported_where_edits_are_known():
    assert build_document(build_groups())["majority"] is None
    document = build_document([set_edits(one, "aa") for one in build_groups()])
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(document)))
    best = document["majority"]["best_of_group"]
    assert best["value"] == document["random"]["value"]  # both patches make the one edit
    assert best["low"] < best["value"] < best["high"]
    assert document["majority"]["best_at_k"][-1] == {"k": 2, "value": best["value"]}
