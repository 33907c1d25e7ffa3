from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import pytest

from tests.builders.patch_pools import build_patch, build_pool
from training.curation.combinations import GroupShape, form_groups, limit_per_issue
from training.datasets.groups import LabelSource

SIX = build_pool(targets=(1.0, 0.0, 1.0, 0.0, 0.0, 0.0))


def test_six_patches_make_all_fifteen_groups_of_four():
    formed, reasons = form_groups(SIX, GroupShape(), 1)
    assert reasons == []
    fours = {frozenset(one.patches) for one in formed}
    assert fours == {frozenset(one.diff for one in four) for four in combinations(SIX.patches, 4)}
    assert len({one.key for one in formed}) == 15
    truth = {one.diff: one.target for one in SIX.patches}
    assert all(
        truth[text] == target
        for one in formed
        for text, target in zip(one.patches, one.targets, strict=True)
    )
    assert sorted(one.positives for one in formed) == [0] + [1] * 8 + [2] * 6


def test_trajectories_stay_with_their_patches():
    told = replace(SIX.patches[0], trajectory="I ran it.")
    formed, _ = form_groups(replace(SIX, patches=(told, *SIX.patches[1:3])), GroupShape(), 1)
    ((patches, trajectories),) = [(one.patches, one.trajectories) for one in formed]
    assert trajectories == tuple("I ran it." if text == told.diff else None for text in patches)
    assert len(trajectories) == 4
    assert all(one.trajectories == () for one in form_groups(SIX, GroupShape(), 1)[0])


def test_seats_do_not_depend_on_submission_or_labels():
    again = replace(SIX, patches=SIX.patches[::-1])
    assert form_groups(again, GroupShape(), 1) == form_groups(SIX, GroupShape(), 1)
    mixed = [build_pool(f"o/r#{at}", targets=(None, 1.0, None, 0.0)) for at in range(20)]
    first = {form_groups(one, GroupShape(), 1)[0][0].targets[0] for one in mixed}
    assert first == {None, 1.0, 0.0}


def test_labelled_patches_are_drawn_first_of_more_than_six():
    many = build_pool(targets=(None,) * 5 + (1.0, 0.0) * 3)
    formed, _ = form_groups(many, GroupShape(), 1)
    assert len(formed) == 15
    assert {target for one in formed for target in one.targets} == {0.0, 1.0}
    more = build_pool(targets=(1.0, 0.0) * 6)
    drawn = {
        seed: {text for one in form_groups(more, GroupShape(), seed)[0] for text in one.patches}
        for seed in range(20)
    }
    assert all(len(texts) == 6 for texts in drawn.values())
    assert len({frozenset(texts) for texts in drawn.values()}) > 10


def test_free_seats_are_padded_without_a_target():
    (only,) = form_groups(build_pool(targets=(1.0, 0.0)), GroupShape(), 1)[0]
    assert only.patches[2:] == ("", "")
    assert only.targets[2:] == (None, None)
    assert form_groups(build_pool(targets=(1.0, 0.0)), GroupShape(min_patches=4), 1) == (
        [],
        ["fewer than 4 patches"],
    )


@pytest.mark.parametrize(
    ("given", "shape", "formed", "expected"),
    [
        (build_pool(targets=(None,) * 6), GroupShape(), 0, ["nothing is known of its patches"]),
        (build_pool(targets=()), GroupShape(min_patches=1), 0, ["nothing is known of its patches"]),
        (build_pool(targets=(None,) * 5 + (1.0,)), GroupShape(), 10, ["nothing is known of its patches"] * 5),
        (SIX, GroupShape(max_characters=100), 0, ["more than 100 characters"] * 15),
        (SIX, GroupShape(max_characters=10_000), 15, []),
        (build_pool(targets=(1.0,)), GroupShape(), 0, ["fewer than 2 patches"]),
    ],
)  # fmt: skip
def test_dropped_groups_are_counted_by_reason(given, shape, formed, expected):
    groups, reasons = form_groups(given, shape, 1)
    assert (len(groups), reasons) == (formed, expected)


def test_group_has_the_last_label_time_and_the_mean_weight():
    early, late = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2))
    patches = (
        build_patch(1, 1.0, weight=0.5, outcome_at=early),
        build_patch(2, 0.2, weight=1.0, outcome_at=late),
        build_patch(3, None),
    )
    given = replace(build_pool(), patches=patches, source=LabelSource.OUTCOMES, as_of=early)
    (only,) = form_groups(given, GroupShape(), 1)[0]
    assert (only.weight, only.outcome_at, only.as_of) == (0.75, late, early)
    assert only.source is LabelSource.OUTCOMES


def test_groups_per_issue_are_limited():
    formed = [
        one
        for name in ("o/r#1", "o/r#2")
        for one in form_groups(replace(SIX, issue=name), GroupShape(), 1)[0]
    ]
    drawn = limit_per_issue(formed, 3, 1)
    assert [one.issue for one in drawn] == ["o/r#1"] * 3 + ["o/r#2"] * 3
    assert drawn == limit_per_issue(formed[::-1], 3, 1) != limit_per_issue(formed, 3, 2)


def build_words_pool(*texts):
    """Patches that add these words in a new file, so that they share what the texts share."""
    diffs = [f"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+{text}\n" for text in texts]
    return replace(build_pool(), patches=tuple(build_patch(diff=text) for text in diffs))


def read_words(diff):
    return frozenset(diff.splitlines()[-1][1:].split())


def list_word_groups(pool, shape):
    return {
        frozenset(" ".join(sorted(read_words(text))) for text in group.patches if text)
        for group in form_groups(pool, shape, 1)[0]
    }


def test_clear_groups_are_alike_or_unlike():
    """By hand: `a b` and `b a` are equal, both share nothing with `c d`, and a third with `a c`: 4 x 1/3 x 2/3 = 8/9."""
    pool = build_words_pool("a b", "b a", "c d", "a c")
    shape = GroupShape(seats=2, clear_groups=3)
    assert list_word_groups(pool, shape) == {frozenset({"a b"}), frozenset({"a b", "c d"})}
    groups, reasons = form_groups(pool, shape, 1)
    assert (len(groups), reasons) == (3, ["half alike"] * 3)
    assert len(form_groups(pool, replace(shape, clear_groups=6), 1)[0]) == 6


def test_clear_fours_of_six_equal_a_second_implementation():
    texts = ["a b c d", "a b c e f", "a b x", "p q r s u v w", "p q r t", "a p m n"]
    pool = build_words_pool(*texts)

    def jaccard(left, right):
        return len(left & right) / len(left | right)

    def score(four):
        shares = [jaccard(*pair) for pair in combinations(four, 2)]
        return sum(1 - (2 * share - 1) ** 2 for share in shares) / len(shares)

    every = sorted(combinations(map(frozenset, map(str.split, texts)), 4), key=score)
    assert score(every[4]) < score(every[5])  # the five best are no matter of order
    expected = {frozenset(" ".join(sorted(words)) for words in four) for four in every[:5]}
    assert list_word_groups(pool, GroupShape(clear_groups=5)) == expected
    again = replace(pool, patches=pool.patches[::-1])
    assert list_word_groups(again, GroupShape(clear_groups=5)) == expected
