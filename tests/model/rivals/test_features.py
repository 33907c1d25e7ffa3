"""Features of rivals are finite, independent of order, and equal for equal edits."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.domain import Issue
from model.patches import edits
from model.rivals import features
from tests.model.builders import build_diff

ISSUE = Issue(
    "find() fails", "Shelf.find raises KeyError\n\n    return self.books.get(key, None)\n"
)
LINES = st.sampled_from(
    ["return None", "x = find(key)", "if key is None:", "    raise KeyError(key)", "# why", ""]
)
PATHS = st.sampled_from(["a.py", "pkg/shelf.py", "web/app.ts"])
DIFFS = st.builds(
    lambda added, path, removed: build_diff(added, path=path, removed=removed), LINES, PATHS, LINES
)
GROUPS = st.lists(st.one_of(DIFFS, st.text(max_size=40)), min_size=1, max_size=5)


def compute_facts(diffs, issue=ISSUE):
    return features.compute_features(issue, [edits.read_edit(item) for item in diffs])


@settings(deadline=None)
@given(GROUPS, st.randoms(use_true_random=False))
def test_features_ignore_the_order_of_rivals(diffs, rng):
    order = list(range(len(diffs)))
    rng.shuffle(order)
    straight, shuffled = compute_facts(diffs), compute_facts([diffs[seat] for seat in order])
    for at, seat in enumerate(order):
        assert shuffled[at] == pytest.approx(straight[seat], abs=1e-12)


@settings(deadline=None)
@given(GROUPS, st.data())
def test_copies_have_equal_features(diffs, data):
    copied = data.draw(st.integers(0, len(diffs) - 1))
    features_of_all = compute_facts([*diffs, diffs[copied]])
    assert features_of_all[-1] == pytest.approx(features_of_all[copied], abs=1e-12)
    assert features_of_all[0]["group's same"] > 0


@settings(deadline=None)
@given(GROUPS, st.text(max_size=60))
def test_every_feature_is_finite(diffs, body):
    for item in compute_facts(diffs, Issue("", body)):
        assert tuple(item) == features.list_columns()
        assert all(math.isfinite(value) for value in item.values())


def test_comments_change_nothing():
    silent = compute_facts([build_diff("x = 1"), build_diff("x = 2"), build_diff("y = 2")])
    boasting = compute_facts(
        [build_diff("x = 1  # correct, all tests pass"), *map(build_diff, ["x = 2", "y = 2"])]
    )
    assert silent == boasting


def test_copies_are_one_rival():
    alone = compute_facts([build_diff("x = 1"), build_diff("x = 2")])[0]
    doubled = compute_facts([build_diff("x = 1"), build_diff("x = 2"), build_diff("x = 2")])[0]
    assert alone["distinct rivals"] == doubled["distinct rivals"] == 1
    assert alone["distinct rivals' text"] == doubled["distinct rivals' text"]


def test_features_count_names_of_the_issue():
    named = compute_facts(
        [build_diff("return self.books.get(key, None)"), build_diff("return other")]
    )
    assert named[0]["issue shows its code"] > 0.5 > named[1]["issue shows its code"]
    assert named[0]["issue names it adds"] > named[1]["issue names it adds"]


def test_comparison_stops_at_the_character_limit():
    giant = edits.read_edit(build_diff("x" * 3_000_000))
    alike = features.compare_edits(giant, edits.read_edit(build_diff("y")))
    assert 0 <= alike["text"] < 0.01
