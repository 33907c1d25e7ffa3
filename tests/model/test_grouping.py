"""Seating: everybody sits once in every vote, next to somebody new."""

from collections import Counter
from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import PatchId
from model.grouping import Candidate, part_sizes, plans, share_seats


def candidates(count, *, solo=()):
    return [Candidate(PatchId(f"#{n}"), f"print {n}", solo=n in solo) for n in range(count)]


def plans_of_votes(group, seed, *, count):
    return tuple(islice(plans(group, seed), count))


def sitting(plan):
    return Counter(seat for part in plan for seat in part if seat is not None)


groups = st.integers(0, 14).flatmap(
    lambda count: st.sets(st.integers(0, max(count - 1, 0))).map(
        lambda solo: candidates(count, solo=solo)
    )
)


@given(groups, st.integers(), st.integers(0, 5))
def test_every_candidate_sits_in_every_vote_exactly_once(group, seed, count):
    plans = plans_of_votes(group, seed, count=count)
    assert len(plans) == count
    for plan in plans:
        assert sitting(plan) == Counter(one.id for one in group)
        assert all(len(part) == 4 for part in plan)


@given(groups, st.integers())
def test_padding_comes_last_in_a_part(group, seed):
    (plan,) = plans_of_votes(group, seed, count=1)
    for part in plan:
        seated = sum(seat is not None for seat in part)
        assert None not in part[:seated]


@given(groups, st.integers(), st.randoms())
def test_the_plan_does_not_depend_on_the_order_of_arrival(group, seed, random):
    shuffled = random.sample(group, len(group))
    assert plans_of_votes(shuffled, seed, count=3) == plans_of_votes(group, seed, count=3)


@given(st.integers(1, 200))
def test_parts_are_as_few_and_as_equal_as_possible(count):
    sizes = part_sizes(count)
    assert sum(sizes) == count
    assert len(sizes) == -(-count // 4)
    assert max(sizes) <= 4
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, (1,)), (4, (4,)), (5, (3, 2)), (6, (3, 3)), (9, (3, 3, 3))]
)
def test_part_sizes_by_hand(count, sizes):
    assert part_sizes(count) == sizes


def test_a_group_of_one_is_padded():
    assert plans_of_votes(candidates(1), 7, count=2) == ((("#0", None, None, None),),) * 2


def test_a_group_of_none_has_no_parts():
    assert plans_of_votes([], 7, count=2) == ((), ())


def test_a_solo_candidate_never_has_a_neighbour():
    for plan in plans_of_votes(candidates(5, solo={2}), 1, count=4):
        assert ("#2", None, None, None) in plan
        assert len(plan) == 2


@given(st.integers(5, 12), st.integers())
def test_above_four_the_partition_changes_from_vote_to_vote(count, seed):
    plans = plans_of_votes(candidates(count), seed, count=4)
    partitions = [frozenset(frozenset(part) for part in plan) for plan in plans]
    assert len(set(partitions)) == len(partitions)


def test_neighbours_vary_more_than_chance_would_have_it():
    met = {
        frozenset(pair)
        for plan in plans_of_votes(candidates(8), 3, count=4)
        for part in plan
        for pair in combinations(part, 2)
    }
    assert len(met) >= 24  # of 28 pairs


def test_four_votes_put_each_of_four_patches_on_nearly_every_seat():
    plans = plans_of_votes(candidates(4), 5, count=4)
    places = {(seat, one) for (part,) in plans for seat, one in enumerate(part)}
    assert len(places) >= 13  # of 16


def test_equal_edits_share_the_seat_of_the_smallest_id():
    one, two, three = candidates(3)
    twin = Candidate(PatchId("#9"), one.fingerprint)
    shared = {"#0": "#0", "#1": "#1", "#9": "#0", "#2": "#2"}
    assert share_seats([one, two, twin, three]) == shared
    assert share_seats([twin, three, two, one]) == shared
