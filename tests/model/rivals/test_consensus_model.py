"""The consensus model: its arithmetic, its file format, and its choice of fit."""

import json
import lzma

import numpy as np
import pytest

from model.domain import Issue
from model.errors import BadArtefact
from model.patches import edits
from model.rivals import consensus_model
from model.rivals.consensus_model import (
    BoostedTrees,
    ConsensusModel,
    FittedModel,
    GroupClassifier,
    HoldoutBlock,
)
from model.rivals.features import list_columns
from model.voting.thresholds import Thresholds
from tests.model.builders import build_diff

ISSUE = Issue("x is wrong", "x should be 1")


def build_trees():
    """One split at 0.5 of the first column: -1 below, 2 above; and a tree that always adds 0.5."""
    return BoostedTrees(
        roots=np.array([0, 3]),
        column=np.array([0, 0, 0, 0]),
        threshold=np.array([0.5, 0, 0, 0]),
        left=np.array([1, 1, 2, 3]),
        right=np.array([2, 1, 2, 3]),
        log_odds=np.array([0, -1, 2, 0.5]),
    )


def build_expert(**changes):
    parts = {
        "mean": np.zeros(1),
        "scale": np.ones(1),
        "weights": np.array([3.0]),
        "bias": 0.25,
        "trees": build_trees(),
    }
    return GroupClassifier(**(parts | changes))


def build_wide_expert(bias):
    size = len(list_columns())
    nothing = np.zeros(size)
    return build_expert(mean=nothing, scale=np.ones(size), weights=nothing, bias=bias)


def build_model():
    fits = {
        name: FittedModel(
            name,
            build_wide_expert(1.0),
            build_wide_expert(0.0),
            build_wide_expert(-1.0),
            Thresholds(0.8, 0.2),
        )
        for name in ("early", "late", "a/a", "everything")
    }
    blocks = (HoldoutBlock("early", ("a/a",), 0, 100), HoldoutBlock("late", ("a/a",), 100))
    return ConsensusModel(fits, blocks, {"seed": 0}, "")


def test_trees_sum_their_leaves():
    assert build_trees().sum_leaves(np.array([[0.0], [0.5], [1.0]])).tolist() == [-0.5, -0.5, 2.5]


def test_classifier_adds_log_odds():
    below, above = build_expert(mean=np.array([1.0])).predict_probability(np.array([[1.0], [2.0]]))
    assert np.log(below / (1 - below)) == pytest.approx(0.25 - 0.5)
    assert np.log(above / (1 - above)) == pytest.approx(3 + 0.25 + 2.5)


def test_features_are_clipped():
    far, limit = build_expert().predict_probability(
        np.array([[1e9], [consensus_model.MAX_DEVIATIONS]])
    )
    assert far == limit


def test_copies_and_small_groups_use_their_own_classifiers():
    fit = build_model().fits["everything"]
    rivals = [
        edits.read_edit(build_diff(f"x = {number}")) for number in range(consensus_model.FEW_RIVALS)
    ]
    many, few = fit.predict(ISSUE, rivals), fit.predict(ISSUE, rivals[1:])
    copied = fit.predict(ISSUE, [*rivals, rivals[0]])
    assert many[0].probability < few[0].probability < copied[0].probability
    assert copied[0] == copied[-1]
    assert fit.predict(ISSUE, []) == []


@pytest.mark.parametrize(
    ("repository", "instance", "strict", "name"),
    [
        ("a/a", "a__a-7", False, "early"),
        ("a/a", "a__a-100", False, "late"),
        ("a/a", "a__a-100", True, "a/a"),
        ("b/b", "b__b-7", False, "everything"),
        ("b/b", "b__b-7", True, "everything"),
        ("b/b", "unnumbered", False, "everything"),
    ],
)
def test_issue_is_judged_by_a_fit_that_never_saw_it(repository, instance, strict, name):
    assert build_model().select_fit(repository, instance, strict=strict).name == name


def test_model_survives_a_round_trip():
    packed = consensus_model.to_bytes(build_model())
    again = consensus_model.from_bytes(packed)
    assert consensus_model.to_bytes(again) == packed
    assert again.blocks == build_model().blocks
    assert again.fits["early"].thresholds == Thresholds(0.8, 0.2)
    assert len(again.fingerprint) == 12


def test_other_format_is_refused_with_the_fix():
    with pytest.raises(BadArtefact, match=r"r4p\.consensus/0.*training\.consensus"):
        consensus_model.from_bytes(
            lzma.compress(json.dumps({"format": "r4p.consensus/0"}).encode())
        )


def test_shipped_model_uses_the_current_features():
    shipped = consensus_model.load_shipped()
    assert shipped.manifest["facts"] == list(list_columns())
    assert {block.name for block in shipped.blocks} < set(shipped.fits)
    assert shipped.manifest["claims"] == {"accept": 0.8, "reject": 0.7, "share": 0.92}
    assert not {"source", "author", "repository"} & set(list_columns())
