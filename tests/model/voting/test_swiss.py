"""The tournament covers every patch first, then compares contenders, and its strengths are Bradley and Terry's."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.domain import PatchId
from model.voting.swiss import COVERAGE, Comparison, fit_strengths, pair_round

ABCD = [PatchId(name) for name in "abcd"]


def play(players, rounds, judge, seed=7):
    """Play rounds with a judge, a function of two players that gives the points of the first."""
    games = []
    for _ in range(rounds):
        games += [Comparison(pair, judge(*pair)) for pair in pair_round(players, games, seed)]
    return games


def prefer_earlier(first, second):
    return float(first < second)


def test_player_without_games_has_one_half():
    assert fit_strengths(ABCD, []) == dict.fromkeys(ABCD, 0.5)
    unread = [Comparison(("a", "b"), None)]
    assert fit_strengths(ABCD, unread) == dict.fromkeys(ABCD, 0.5)


def test_strengths_of_one_win_are_the_exact_solution():
    """With odds x for the winner and 1/x for the loser, x solves x/(x+1) + x²/(x²+1) = 3/2."""
    strengths = fit_strengths(["a", "b"], [Comparison(("a", "b"), 1.0)])
    odds = strengths["a"] / (1 - strengths["a"])
    assert odds / (odds + 1) + odds**2 / (odds**2 + 1) == pytest.approx(1.5, abs=1e-3)
    assert strengths["b"] == pytest.approx(1 - strengths["a"], abs=1e-3)


def test_draw_and_split_results_leave_both_equal():
    drawn = fit_strengths(["a", "b"], [Comparison(("a", "b"), 0.5)])
    split = fit_strengths(["a", "b"], [Comparison(("a", "b"), 1.0), Comparison(("b", "a"), 1.0)])
    assert set(drawn.values()) == set(split.values()) == {0.5}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.permutations("abcd"), st.sampled_from([0.0, 0.5, 1.0])), max_size=12))
def test_expected_points_equal_the_points_won(results):
    """The likelihood equations: what a fit expects of a player, with the added draw, is what the player has."""
    games = [Comparison((order[0], order[1]), points) for order, points in results]
    strengths = fit_strengths(ABCD, games)
    odds = {player: value / (1 - value) for player, value in strengths.items()}
    for player in ABCD:
        won, expected = 0.5, odds[player] / (odds[player] + 1)
        for game in games:
            if player in game.pair:
                (rival,) = set(game.pair) - {player}
                won += game.points if game.pair[0] == player else 1 - game.points
                expected += odds[player] / (odds[player] + odds[rival])
        assert expected == pytest.approx(won, abs=0.02)


@pytest.mark.parametrize("count", range(2, 10))
def test_everybody_is_covered_first(count):
    players = [PatchId(f"{number}") for number in range(count)]
    games, rounds = [], 0
    while (
        min(Counter(player for game in games for player in game.pair).get(p, 0) for p in players)
        < COVERAGE
    ):
        pairs = pair_round(players, games, 3)
        seats = [player for pair in pairs for player in pair]
        assert len(seats) == len(set(seats)) == 2 * (count // 2)
        games += [Comparison(pair, prefer_earlier(*pair)) for pair in pairs]
        rounds += 1
    assert rounds <= COVERAGE + count % 2
    assert max(Counter(frozenset(game.pair) for game in games).values()) <= (
        2 if count % 2 or count == 2 else 1
    )


def test_perfect_judge_ranks_the_best_first_and_contenders_meet_most():
    players = [PatchId(name) for name in "abcdefgh"]
    games = play(players, 8, prefer_earlier)
    strengths = fit_strengths(players, games)
    assert max(players, key=strengths.get) == "a"
    played = Counter(player for game in games for player in game.pair)
    assert played["a"] > played["h"] == COVERAGE


def test_first_round_of_a_known_tournament():
    """Four players: two rounds of two games, then one game a round of the leader with a contender."""
    games = play(ABCD, 3, prefer_earlier)
    assert len(games) == 2 + 2 + 1
    assert "a" in games[-1].pair
    assert len({frozenset(game.pair) for game in games[:4]}) == 4


def test_seats_are_shared_evenly():
    games = play(ABCD, 20, lambda *_pair: 1.0)
    first = Counter(game.pair[0] for game in games)
    second = Counter(game.pair[1] for game in games)
    assert all(abs(first[player] - second[player]) <= 2 for player in ABCD)


def test_judge_who_prefers_a_seat_decides_nothing():
    strengths = fit_strengths(ABCD, play(ABCD, 30, lambda *_pair: 1.0))
    assert max(strengths.values()) - min(strengths.values()) < 0.2


def test_pairs_depend_on_seed_and_results_and_not_on_the_order_of_arrival():
    games = play(ABCD, 2, prefer_earlier)
    assert pair_round(ABCD, games, 1) == pair_round(ABCD[::-1], games, 1)
    assert len({pair_round(ABCD, [], seed) for seed in range(20)}) > 1


@pytest.mark.parametrize("players", [[], [PatchId("a")]])
def test_fewer_than_two_players_have_no_pairs(players):
    assert pair_round(players, [], 1) == ()


def test_unreadable_games_do_not_stop_the_tournament():
    games = play(ABCD, 10, lambda *_pair: None)
    assert {player for game in games for player in game.pair} == set(ABCD)
    assert fit_strengths(ABCD, games) == dict.fromkeys(ABCD, 0.5)
