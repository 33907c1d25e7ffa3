from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.patch_pools import patch, pool
from training.curation.deduplication import list_edit_keys
from training.curation.pools import Pool
from training.curation.splits import SPLITS, SplitBy, SplitPlan, split_pools

START = datetime(2026, 1, 1, tzinfo=UTC)


def dated(number, day, *outcomes):
    """An issue that was read on that day, with a patch for each day on which its label was known."""
    patches = tuple(
        patch(10 * number + at, 1.0, outcome_at=START + timedelta(days=known))
        for at, known in enumerate(outcomes)
    )
    return replace(pool(f"o/r#{number}"), patches=patches, as_of=START + timedelta(days=day))


def sides(pools, **plan):
    parts = split_pools(pools, SplitPlan(**plan))
    return {one.issue: name for name, of in parts.pools.items() for one in of}, parts.reasons


def test_what_was_decided_before_the_cut_is_learnt_and_what_was_opened_after_the_embargo_is_tested():
    pools = [
        dated(1, 0, 20, 21),
        dated(2, 5, 20, 40),
        dated(3, 29, 40),
        dated(4, 30, 60),
        dated(5, 43, 60),
        dated(6, 44, 60),
    ]
    plan = {"cutoff": START + timedelta(days=30), "validation": 0}
    found, reasons = sides(pools, **plan)
    assert found == {"o/r#1": "train", "o/r#2": "train", "o/r#6": "test"}
    assert Counter(reasons) == {"decided after the cut": 1, "opened within the embargo": 2}
    learnt = split_pools(pools, SplitPlan(**plan)).pools["train"][1]
    assert [one.target for one in learnt.patches] == [1.0, None]
    assert learnt.patches[1].outcome_at is None


def test_the_cut_leaves_the_latest_labelled_issues_to_test_on_after_the_embargo():
    pools = [dated(number, number, number + 1) for number in range(100)]
    unknown = replace(dated(500, 500), patches=(patch(1, None),))
    found, _ = sides([*pools, unknown], test=0.1, validation=0, embargo=timedelta(days=20))
    tested = {issue for issue, side in found.items() if side == "test"}
    assert tested == {f"o/r#{number}" for number in range(90, 100)} | {"o/r#500"}
    assert {issue for issue, side in found.items() if side == "train"} == {
        f"o/r#{number}" for number in range(69)
    }


def test_nothing_is_tested_where_nothing_is_asked_for():
    found, reasons = sides([dated(at, at, at) for at in range(20)], test=0, validation=0)
    assert set(found.values()) == {"train"}
    assert reasons == []


def test_a_benchmark_is_cut_by_the_numbers_of_its_issues():
    pools = [pool(f"{repo}-{at}", repo=repo) for repo in ("a", "b") for at in range(20)]
    named = pool("a-tale", repo="a")
    found, _ = sides([*pools, named], test=0.1, validation=0)
    assert {issue for issue, side in found.items() if side == "test"} == {
        "a-18",
        "a-19",
        "b-18",
        "b-19",
    }
    assert found["a-tale"] == "train"


@pytest.mark.parametrize("by", list(SplitBy))
def test_shares_are_about_as_asked_and_other_seeds_choose_others(by):
    pools = [pool(f"o/r-{at}", repo="o/r") for at in range(997)]
    plan = {"mode": by, "validation": 0.2, "test": 0.1}
    found, _ = sides(pools, seed=1, **plan)
    sizes = Counter(found.values())
    assert 60 < sizes["test"] < 140
    assert 140 < sizes["validation"] < 260
    assert (found, []) == sides(pools, seed=1, **plan)
    assert found != sides(pools, seed=2, **plan)[0]


def test_a_lot_does_without_times():
    found, reasons = sides([dated(at, 0, 1) for at in range(200)], mode=SplitBy.ISSUE)
    assert set(found.values()) == {"train", "validation", "test"}
    assert reasons == []


def test_repositories_are_held_out_whole():
    pools = [dated(1, 0, 1), replace(dated(2, 0, 1), repo="x/y")]
    found, _ = sides(pools, held_out=frozenset({"x/y"}), test=0, validation=0)
    assert found == {"o/r#1": "train", "o/r#2": "repositories"}


def test_issues_that_share_a_patch_stand_on_one_side():
    shared = pool("a-1", repo="a").patches
    pools = [pool(f"a-{at}", repo="a") for at in range(2, 20)]
    twins = [pool("a-1", repo="a"), replace(pool("b-7", repo="b"), patches=shared)]
    found, reasons = sides([*pools, *twins], held_out=frozenset({"b"}), test=0, validation=0)
    assert found["b-7"] == "repositories"
    assert "a-1" not in found
    assert reasons == ["shares a patch with an issue of another split"]


def test_an_issue_in_no_split_takes_none_along():
    inside = dated(1, 35, 60)
    learnt = replace(dated(2, 0, 1), patches=(*dated(2, 0, 1).patches, *inside.patches))
    found, reasons = sides([inside, learnt], cutoff=START + timedelta(days=30), validation=0)
    assert found == {"o/r#2": "train"}
    assert reasons == ["opened within the embargo"]


def test_no_issue_is_on_two_sides():
    pools = [pool(f"o/r-{at}", repo="o/r") for at in range(300)]
    parts = split_pools(pools, SplitPlan()).pools
    assert tuple(parts) == SPLITS
    assert sorted(one.issue for of in parts.values() for one in of) == sorted(
        one.issue for one in pools
    )


@st.composite
def histories(draw):
    """Issues of some repositories, dated or not, with patches that may be those of another issue."""
    return [
        Pool(
            f"{repo}#{number}",
            repo,
            "It adds.",
            tuple(
                patch(shared, target, outcome_at=START + timedelta(days=known))
                for shared, target, known in told
            ),
            as_of=day and START + timedelta(days=day),
        )
        for number, (repo, day, told) in enumerate(
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
    histories(),
    st.integers(0, 9),
    st.sampled_from((0.0, 0.2)),
    st.none() | st.integers(0, 90),
    st.sampled_from(list(SplitBy)),
)
def test_nothing_leaks_from_one_side_to_the_other(pools, seed, test, day, by):
    cut = None if day is None else START + timedelta(days=day)
    held_out = frozenset({"c"})
    plan = SplitPlan(seed, by, 0.2, test, held_out, cut, timedelta(days=7))
    parts = split_pools(pools, plan)
    side = {one.issue: name for name, of in parts.pools.items() for one in of}
    assert len(side) + len(parts.reasons) == len(pools)
    assert sum(map(len, parts.pools.values())) == len(side)
    sides_of = {}
    for one in pools:
        for mark in list_edit_keys(one) if one.issue in side else ():
            sides_of.setdefault(mark, set()).add(side[one.issue])
    assert all(len(sides) == 1 for sides in sides_of.values())
    for name, of in parts.pools.items():
        assert all((one.repo in held_out) == (name == "repositories") for one in of)
    if cut is None or by is SplitBy.ISSUE:
        return
    for one in (*parts.pools["train"], *parts.pools["validation"]):
        assert one.as_of is None or one.as_of < cut
        assert all(p.target is None or p.outcome_at < cut for p in one.patches)
    for one in parts.pools["test"]:
        assert one.as_of is None or one.as_of >= cut + plan.embargo
