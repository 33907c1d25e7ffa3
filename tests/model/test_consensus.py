"""The consensus model: its arithmetic, its artefact, and who may be judged by which fit."""

import gzip
import json

import numpy as np
import pytest

from model import consensus, edits
from model.consensus import Artefact, Block, Expert, Fit, Forest
from model.domain import Issue
from model.errors import BadArtefact
from model.features import columns
from tests.model.builders import diff_of

ISSUE = Issue("x is wrong", "x should be 1")


def forest():
    """One split at 0.5 of the first column: 0.2 below, 0.9 above; and a tree that always says 0.4."""
    return Forest(
        roots=np.array([0, 3]),
        column=np.array([0, 0, 0, 0]),
        threshold=np.array([0.5, 0, 0, 0]),
        left=np.array([1, 1, 2, 3]),
        right=np.array([2, 1, 2, 3]),
        share=np.array([0, 0.2, 0.9, 0.4]),
    )


def expert(**changes):
    parts = {
        "mean": np.zeros(1),
        "scale": np.ones(1),
        "weights": np.array([2.0]),
        "bias": 0.0,
        "forest": forest(),
    }
    return Expert(**(parts | changes))


def wide(bias):
    size = len(columns())
    nothing = np.zeros(size)
    return expert(mean=nothing, scale=np.ones(size), weights=nothing, bias=bias)


def artefact():
    fits = {
        name: Fit(name, wide(1.0), wide(-1.0)) for name in ("early", "late", "a/a", "everything")
    }
    blocks = (Block("early", ("a/a",), 0, 100), Block("late", ("a/a",), 100))
    return Artefact(fits, blocks, {"seed": 0}, "")


def test_a_forest_is_the_mean_of_its_leaves():
    assert forest().probability(np.array([[0.0], [1.0]])).tolist() == pytest.approx([0.3, 0.65])


def test_an_expert_is_the_mean_of_two_scaled():
    plain = expert().uncalibrated(np.array([[0.0]]))
    assert plain[0] == pytest.approx((0.5 + 0.3) / 2)
    scaled = expert(slope=2.0, offset=0.1).probability(np.array([[0.0]]))
    assert scaled[0] == pytest.approx(1 / (1 + np.exp(-(2 * np.log(0.4 / 0.6) + 0.1))))


def test_a_fact_far_out_tells_no_more_than_one_at_the_limit():
    far, limit = expert().probability(np.array([[1e9], [consensus.CLIP]]))
    assert far == limit


def test_copies_have_their_own_expert():
    fit = artefact().fits["everything"]
    one, other = edits.read(diff_of("x = 1")), edits.read(diff_of("x = 2"))
    differing, copied = fit.probabilities(ISSUE, [one, other]), fit.probabilities(ISSUE, [one, one])
    assert differing[0] < copied[0]
    assert copied[0] == copied[1]
    assert fit.probabilities(ISSUE, []) == []


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
def test_an_issue_is_judged_by_a_fit_that_never_saw_it(repository, instance, strict, name):
    assert artefact().fit_for(repository, instance, strict=strict).name == name


def test_what_is_written_is_read_again_the_same():
    packed = consensus.to_bytes(artefact())
    again = consensus.from_bytes(packed)
    assert consensus.to_bytes(again) == packed
    assert again.blocks == artefact().blocks
    assert len(again.fingerprint) == 12


def test_another_format_is_refused_with_what_to_do():
    with pytest.raises(BadArtefact, match=r"r4p\.consensus/0.*training\.consensus"):
        consensus.from_bytes(gzip.compress(json.dumps({"format": "r4p.consensus/0"}).encode()))


def test_the_shipped_artefact_knows_these_facts():
    shipped = consensus.shipped()
    assert shipped.manifest["facts"] == list(columns())
    assert {block.name for block in shipped.blocks} < set(shipped.fits)
    assert not {"source", "author", "repository"} & set(columns())
