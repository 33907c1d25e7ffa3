"""Every candidate sits once in every vote, with new neighbours."""

from collections import Counter
from itertools import combinations, islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import PatchId
from model.voting.grouping import (
    PAIRS,
    SINGLY,
    Candidate,
    build_group_scheme,
    compute_part_sizes,
    share_seats,
)


def unlike(_one, _other):
    return 0.0


def candidates(count, *, solo=()):
    return [Candidate(PatchId(f"#{n}"), f"print {n}", sits_alone=n in solo) for n in range(count)]


def plans_of_votes(group, seed, *, count):
    return tuple(islice(build_group_scheme().plans(group, seed, unlike), count))


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
        assert sitting(plan) == Counter(candidate.id for candidate in group)
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
    sizes = compute_part_sizes(count)
    assert sum(sizes) == count
    assert len(sizes) == -(-count // 4)
    assert max(sizes) <= 4
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, (1,)), (4, (4,)), (5, (3, 2)), (6, (3, 3)), (9, (3, 3, 3))]
)
def test_part_sizes_by_hand(count, sizes):
    assert compute_part_sizes(count) == sizes


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


@given(st.integers(1, 4), st.integers(1, 6), st.integers())
def test_up_to_four_patches_visit_every_seat_equally_often(count, times, seed):
    plans = plans_of_votes(candidates(count), seed, count=count * times)
    places = Counter((seat, one) for (part,) in plans for seat, one in enumerate(part) if one)
    assert set(places.values()) == {times}
    assert len(places) == count**2


@given(st.sampled_from([8, 12]), st.integers())
def test_above_four_no_seat_is_favoured(count, seed):
    plans = plans_of_votes(candidates(count), seed, count=8)
    places = Counter(
        (seat, one) for plan in plans for part in plan for seat, one in enumerate(part)
    )
    assert max(places.values()) <= 4  # of 8 votes; 2 on average


def test_four_patches_take_all_orders_before_one_comes_again():
    plans = plans_of_votes(candidates(4), 5, count=24)
    assert len(set(plans)) == 24


def test_a_second_four_votes_begin_like_the_first_four():
    orders = [part for (part,) in plans_of_votes(candidates(4), 5, count=8)]
    assert {order[:2] for order in orders[:4]} == {order[:2] for order in orders[4:]}
    assert len({order[0] for order in orders[:4]}) == 4


@given(st.integers(5, 14), st.integers())
def test_above_four_everybody_meets_two_neighbourhoods_in_two_votes(count, seed):
    def likeness(one, other):
        return Random(f"{seed} {sorted((one, other))}").random()

    met = Counter()
    for plan in islice(build_group_scheme().plans(candidates(count), seed, likeness), 2):
        met.update({(item, frozenset(part) - {item}) for part in plan for item in part if item})
    assert len(met) == 2 * count


def test_half_alike_patches_sit_in_different_parts():
    families = {PatchId(f"#{n}"): n % 2 for n in range(8)}

    def likeness(one, other):
        return 0.95 if families[one] == families[other] else 0.5

    def mixed(plans):
        return sum(
            families[one] != families[other]
            for plan in plans
            for part in plan
            for one, other in combinations(part, 2)
        )

    group = candidates(8)
    indifferent = [plans_of_votes(group, seed, count=1) for seed in range(30)]
    choosy = [
        tuple(islice(build_group_scheme().plans(group, seed, likeness), 1)) for seed in range(30)
    ]
    assert sum(map(mixed, choosy)) < 0.9 * sum(map(mixed, indifferent))


@given(st.integers(5, 9), st.integers())
def test_line_up_shows_all_patches_and_favours_no_seat(count, seed):
    plans = list(islice(build_group_scheme(9).plans(candidates(count), seed, unlike), count))
    places = Counter()
    for (part,) in plans:
        assert part[count:] == (None,) * (9 - count)
        places.update(enumerate(part[:count]))
    assert len(plans) == count
    assert max(places.values()) <= 3


@given(groups, st.integers(), st.integers(1, 3))
def test_single_scheme_asks_about_each_patch_once_per_vote(group, seed, count):
    for plan in islice(SINGLY.plans(group, seed, unlike), count):
        assert sorted(plan) == sorted((candidate.id,) for candidate in group)


@given(groups, st.integers())
def test_pair_scheme_shows_every_pair_in_both_orders(group, seed):
    (plan,) = islice(PAIRS.plans(group, seed, unlike), 1)
    assert all(len(pair) == 2 for pair in plan)
    assert {item for pair in plan for item in pair if item} == {candidate.id for candidate in group}
    compared = [pair for pair in plan if pair[1] is not None]
    assert {(other, one) for one, other in compared} == set(compared)
    assert len(set(plan)) == len(plan)


def test_four_make_twelve_pairs_and_one_alone_is_compared_with_no_change():
    (plan,) = islice(PAIRS.plans(candidates(4), 1, unlike), 1)
    assert len(plan) == 12
    assert next(PAIRS.plans(candidates(1), 1, unlike)) == (("#0", None),)


def test_equal_edits_share_the_seat_of_the_smallest_id():
    one, two, three = candidates(3)
    twin = Candidate(PatchId("#9"), one.fingerprint)
    shared = {"#0": "#0", "#1": "#1", "#9": "#0", "#2": "#2"}
    assert share_seats([one, two, twin, three]) == shared
    assert share_seats([twin, three, two, one]) == shared
