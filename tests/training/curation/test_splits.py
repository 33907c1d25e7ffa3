from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.patch_pools import build_patch, build_pool
from training.curation.deduplication import list_edit_keys
from training.curation.pools import Pool
from training.curation.splits import SPLITS, SplitBy, SplitPlan, split_pools

START = datetime(2026, 1, 1, tzinfo=UTC)


def build_dated_pool(number, day, *outcomes):
    """An issue that was read on that day, with a patch for each day on which its label was known."""
    patches = tuple(
        build_patch(10 * number + at, 1.0, outcome_at=START + timedelta(days=known))
        for at, known in enumerate(outcomes)
    )
    return replace(build_pool(f"o/r#{number}"), patches=patches, as_of=START + timedelta(days=day))


def split(pools, **plan):
    parts = split_pools(pools, SplitPlan(**plan))
    return {one.issue: name for name, of in parts.pools.items() for one in of}, parts.reasons


def test_cutoff_and_embargo_part_training_from_test():
    pools = [
        build_dated_pool(1, 0, 20, 21),
        build_dated_pool(2, 5, 20, 40),
        build_dated_pool(3, 29, 40),
        build_dated_pool(4, 30, 60),
        build_dated_pool(5, 43, 60),
        build_dated_pool(6, 44, 60),
    ]
    plan = {"cutoff": START + timedelta(days=30), "validation": 0}
    splits, reasons = split(pools, **plan)
    assert splits == {"o/r#1": "train", "o/r#2": "train", "o/r#6": "test"}
    assert Counter(reasons) == {"decided after the cut": 1, "opened within the embargo": 2}
    learnt = split_pools(pools, SplitPlan(**plan)).pools["train"][1]
    assert [one.target for one in learnt.patches] == [1.0, None]
    assert learnt.patches[1].outcome_at is None


def test_default_cutoff_leaves_the_latest_labelled_issues_for_the_test():
    pools = [build_dated_pool(number, number, number + 1) for number in range(100)]
    unknown = replace(build_dated_pool(500, 500), patches=(build_patch(1, None),))
    splits, _ = split([*pools, unknown], test=0.1, validation=0, embargo=timedelta(days=20))
    tested = {issue for issue, side in splits.items() if side == "test"}
    assert tested == {f"o/r#{number}" for number in range(90, 100)} | {"o/r#500"}
    assert {issue for issue, side in splits.items() if side == "train"} == {
        f"o/r#{number}" for number in range(69)
    }


def test_zero_shares_put_everything_in_training():
    splits, reasons = split(
        [build_dated_pool(at, at, at) for at in range(20)], test=0, validation=0
    )
    assert set(splits.values()) == {"train"}
    assert reasons == []


def test_undated_benchmark_is_cut_by_issue_number():
    pools = [build_pool(f"{repo}-{at}", repo=repo) for repo in ("a", "b") for at in range(20)]
    named = build_pool("a-tale", repo="a")
    splits, _ = split([*pools, named], test=0.1, validation=0)
    assert {issue for issue, side in splits.items() if side == "test"} == {
        "a-18",
        "a-19",
        "b-18",
        "b-19",
    }
    assert splits["a-tale"] == "train"


@pytest.mark.parametrize("mode", list(SplitBy))
def test_shares_are_near_the_requested_and_depend_on_the_seed(mode):
    pools = [build_pool(f"o/r-{at}", repo="o/r") for at in range(997)]
    plan = {"mode": mode, "validation": 0.2, "test": 0.1}
    splits, _ = split(pools, seed=1, **plan)
    sizes = Counter(splits.values())
    assert 60 < sizes["test"] < 140
    assert 140 < sizes["validation"] < 260
    assert (splits, []) == split(pools, seed=1, **plan)
    assert splits != split(pools, seed=2, **plan)[0]


def test_split_by_issue_ignores_times():
    splits, reasons = split([build_dated_pool(at, 0, 1) for at in range(200)], mode=SplitBy.ISSUE)
    assert set(splits.values()) == {"train", "validation", "test"}
    assert reasons == []


def test_held_out_repositories_are_a_split():
    pools = [build_dated_pool(1, 0, 1), replace(build_dated_pool(2, 0, 1), repo="x/y")]
    splits, _ = split(pools, held_out=frozenset({"x/y"}), test=0, validation=0)
    assert splits == {"o/r#1": "train", "o/r#2": "repositories"}


def test_issues_that_share_a_patch_stay_on_one_side():
    shared = build_pool("a-1", repo="a").patches
    pools = [build_pool(f"a-{at}", repo="a") for at in range(2, 20)]
    twins = [build_pool("a-1", repo="a"), replace(build_pool("b-7", repo="b"), patches=shared)]
    splits, reasons = split([*pools, *twins], held_out=frozenset({"b"}), test=0, validation=0)
    assert splits["b-7"] == "repositories"
    assert "a-1" not in splits
    assert reasons == ["shares a patch with an issue of another split"]


def test_dropped_issue_drops_no_other():
    inside = build_dated_pool(1, 35, 60)
    learnt = replace(
        build_dated_pool(2, 0, 1), patches=(*build_dated_pool(2, 0, 1).patches, *inside.patches)
    )
    splits, reasons = split([inside, learnt], cutoff=START + timedelta(days=30), validation=0)
    assert splits == {"o/r#2": "train"}
    assert reasons == ["opened within the embargo"]


def test_no_issue_is_in_two_splits():
    pools = [build_pool(f"o/r-{at}", repo="o/r") for at in range(300)]
    parts = split_pools(pools, SplitPlan()).pools
    assert tuple(parts) == SPLITS
    assert sorted(one.issue for of in parts.values() for one in of) == sorted(
        one.issue for one in pools
    )


@st.composite
def draw_histories(draw):
    """Issues of some repositories, dated or not, with patches that may be those of another issue."""
    return [
        Pool(
            f"{repo}#{number}",
            repo,
            "It adds.",
            tuple(
                build_patch(shared, target, outcome_at=START + timedelta(days=known))
                for shared, target, known in drawn
            ),
            as_of=day and START + timedelta(days=day),
        )
        for number, (repo, day, drawn) in enumerate(
            draw(
                st.lists(
                    st.tuples(
                        st.sampled_from("abc"),
                        st.none() | st.integers(1, 90),
                        st.lists(
                            st.tuples(
                                st.integers(0, 60),
                                st.sampled_from((None, 0.0, 1.0)),
                                st.integers(0, 120),
                            ),
                            max_size=3,
                        ),
                    ),
                    max_size=12,
                )
            )
        )
    ]


@given(
    draw_histories(),
    st.integers(0, 9),
    st.sampled_from((0.0, 0.2)),
    st.none() | st.integers(0, 90),
    st.sampled_from(list(SplitBy)),
)
def test_no_edit_or_label_leaks_between_splits(pools, seed, test, day, mode):
    cut = None if day is None else START + timedelta(days=day)
    held_out = frozenset({"c"})
    plan = SplitPlan(seed, mode, 0.2, test, held_out, cut, timedelta(days=7))
    parts = split_pools(pools, plan)
    side = {one.issue: name for name, of in parts.pools.items() for one in of}
    assert len(side) + len(parts.reasons) == len(pools)
    assert sum(map(len, parts.pools.values())) == len(side)
    sides_of = {}
    for one in pools:
        for mark in list_edit_keys(one) if one.issue in side else ():
            sides_of.setdefault(mark, set()).add(side[one.issue])
    assert all(len(split) == 1 for split in sides_of.values())
    for name, of in parts.pools.items():
        assert all((one.repo in held_out) == (name == "repositories") for one in of)
    if cut is None or mode is SplitBy.ISSUE:
        return
    for one in (*parts.pools["train"], *parts.pools["validation"]):
        assert one.as_of is None or one.as_of < cut
        assert all(p.target is None or p.outcome_at < cut for p in one.patches)
    for one in parts.pools["test"]:
        assert one.as_of is None or one.as_of >= cut + plan.embargo
