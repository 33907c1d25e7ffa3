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


def measure_no_likeness(_one, _other):
    return 0.0


def build_candidates(count, *, solo=()):
    return [Candidate(PatchId(f"#{n}"), f"print {n}", sits_alone=n in solo) for n in range(count)]


def list_plans(group, seed, *, count):
    return tuple(islice(build_group_scheme().plans(group, seed, measure_no_likeness), count))


def count_seats(plan):
    return Counter(seat for part in plan for seat in part if seat is not None)


groups = st.integers(0, 14).flatmap(
    lambda count: st.sets(st.integers(0, max(count - 1, 0))).map(
        lambda solo: build_candidates(count, solo=solo)
    )
)


@given(groups, st.integers(), st.integers(0, 5))
def test_candidate_sits_once_in_every_vote(group, seed, count):
    plans = list_plans(group, seed, count=count)
    assert len(plans) == count
    for plan in plans:
        assert count_seats(plan) == Counter(candidate.id for candidate in group)
        assert all(len(part) == 4 for part in plan)


@given(groups, st.integers())
def test_padding_is_last_in_a_part(group, seed):
    (plan,) = list_plans(group, seed, count=1)
    for part in plan:
        seated = sum(seat is not None for seat in part)
        assert None not in part[:seated]


@given(groups, st.integers(), st.randoms())
def test_plan_does_not_depend_on_the_order_of_candidates(group, seed, random):
    shuffled = random.sample(group, len(group))
    assert list_plans(shuffled, seed, count=3) == list_plans(group, seed, count=3)


@given(st.integers(1, 200))
def test_parts_are_few_and_of_equal_size(count):
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


def test_single_candidate_is_padded():
    assert list_plans(build_candidates(1), 7, count=2) == ((("#0", None, None, None),),) * 2


def test_empty_group_has_no_parts():
    assert list_plans([], 7, count=2) == ((), ())


def test_solo_candidate_sits_alone():
    for plan in list_plans(build_candidates(5, solo={2}), 1, count=4):
        assert ("#2", None, None, None) in plan
        assert len(plan) == 2


@given(st.integers(5, 12), st.integers())
def test_partition_changes_from_vote_to_vote_above_four(count, seed):
    plans = list_plans(build_candidates(count), seed, count=4)
    partitions = [frozenset(frozenset(part) for part in plan) for plan in plans]
    assert len(set(partitions)) == len(partitions)


def test_eight_candidates_meet_most_others_in_four_votes():
    met = {
        frozenset(pair)
        for plan in list_plans(build_candidates(8), 3, count=4)
        for part in plan
        for pair in combinations(part, 2)
    }
    assert len(met) >= 24  # of 28 pairs


@given(st.integers(1, 4), st.integers(1, 6), st.integers())
def test_up_to_four_candidates_visit_every_seat_equally_often(count, times, seed):
    plans = list_plans(build_candidates(count), seed, count=count * times)
    places = Counter((seat, one) for (part,) in plans for seat, one in enumerate(part) if one)
    assert set(places.values()) == {times}
    assert len(places) == count**2


@given(st.sampled_from([8, 12]), st.integers())
def test_no_seat_is_favoured_above_four(count, seed):
    plans = list_plans(build_candidates(count), seed, count=8)
    places = Counter(
        (seat, one) for plan in plans for part in plan for seat, one in enumerate(part)
    )
    assert max(places.values()) <= 4  # of 8 votes; 2 on average


def test_four_candidates_take_all_orders_before_a_repeat():
    plans = list_plans(build_candidates(4), 5, count=24)
    assert len(set(plans)) == 24


def test_second_four_votes_begin_like_the_first_four():
    orders = [part for (part,) in list_plans(build_candidates(4), 5, count=8)]
    assert {order[:2] for order in orders[:4]} == {order[:2] for order in orders[4:]}
    assert len({order[0] for order in orders[:4]}) == 4


@given(st.integers(5, 14), st.integers())
def test_two_votes_show_two_neighbourhoods_above_four(count, seed):
    def likeness(left, right):
        return Random(f"{seed} {sorted((left, right))}").random()

    met = Counter()
    for plan in islice(build_group_scheme().plans(build_candidates(count), seed, likeness), 2):
        met.update({(item, frozenset(part) - {item}) for part in plan for item in part if item})
    assert len(met) == 2 * count


def test_similar_candidates_sit_in_different_parts():
    families = {PatchId(f"#{n}"): n % 2 for n in range(8)}

    def likeness(left, right):
        return 0.95 if families[left] == families[right] else 0.5

    def count_mixed(plans):
        return sum(
            families[one] != families[other]
            for plan in plans
            for part in plan
            for one, other in combinations(part, 2)
        )

    group = build_candidates(8)
    indifferent = [list_plans(group, seed, count=1) for seed in range(30)]
    choosy = [
        tuple(islice(build_group_scheme().plans(group, seed, likeness), 1)) for seed in range(30)
    ]
    assert sum(map(count_mixed, choosy)) < 0.9 * sum(map(count_mixed, indifferent))


@given(st.integers(5, 9), st.integers())
def test_line_up_shows_all_candidates_and_favours_no_seat(count, seed):
    plans = list(
        islice(
            build_group_scheme(9).plans(build_candidates(count), seed, measure_no_likeness), count
        )
    )
    places = Counter()
    for (part,) in plans:
        assert part[count:] == (None,) * (9 - count)
        places.update(enumerate(part[:count]))
    assert len(plans) == count
    assert max(places.values()) <= 3


@given(groups, st.integers(), st.integers(1, 3))
def test_single_scheme_asks_about_each_patch_once_per_vote(group, seed, count):
    for plan in islice(SINGLY.plans(group, seed, measure_no_likeness), count):
        assert sorted(plan) == sorted((candidate.id,) for candidate in group)


@given(groups, st.integers())
def test_pair_scheme_shows_every_pair_in_both_orders(group, seed):
    (plan,) = islice(PAIRS.plans(group, seed, measure_no_likeness), 1)
    assert all(len(pair) == 2 for pair in plan)
    assert {item for pair in plan for item in pair if item} == {candidate.id for candidate in group}
    compared = [pair for pair in plan if pair[1] is not None]
    assert {(other, one) for one, other in compared} == set(compared)
    assert len(set(plan)) == len(plan)


def test_four_candidates_make_twelve_pairs_and_one_is_paired_with_none():
    (plan,) = islice(PAIRS.plans(build_candidates(4), 1, measure_no_likeness), 1)
    assert len(plan) == 12
    assert next(PAIRS.plans(build_candidates(1), 1, measure_no_likeness)) == (("#0", None),)


def test_equal_edits_share_the_seat_of_the_smallest_id():
    one, two, three = build_candidates(3)
    twin = Candidate(PatchId("#9"), one.fingerprint)
    shared = {"#0": "#0", "#1": "#1", "#9": "#0", "#2": "#2"}
    assert share_seats([one, two, twin, three]) == shared
    assert share_seats([twin, three, two, one]) == shared
