"""Signals of a pass rate against numbers worked out by hand."""

from itertools import pairwise
from math import log2

import pytest

from training.objective.pass_rate import PassRateSignals, compute_signals
from training.objective.policy_gradient import subtract_leave_one_out


def test_the_signals_of_three_in_eight_by_hand():
    found = PassRateSignals(3, 8)
    assert found.rate == 0.375
    assert found.entropy == pytest.approx(3 / 8 * log2(8 / 3) + 5 / 8 * log2(8 / 5), abs=1e-15)
    assert found.survival == pytest.approx(1 - (3**8 + 5**8) / 8**8, abs=1e-15)
    assert found.energy == pytest.approx(15 / 49, abs=1e-15)
    assert found.pairs == 15


def test_eight_replies_by_hand():
    every = [PassRateSignals(passed, 8) for passed in range(9)]
    assert [one.pairs for one in every] == [0, 7, 12, 15, 16, 15, 12, 7, 0]
    assert [round(one.energy, 3) for one in every] == [
        *(0, 0.143, 0.245, 0.306, 0.327),
        *(0.306, 0.245, 0.143, 0),
    ]


@pytest.mark.parametrize("signal", ["entropy", "survival", "energy", "pairs"])
@pytest.mark.parametrize("of", [2, 8, 16])
def test_every_signal_rises_to_the_half_and_falls_again(signal, of):
    found = [getattr(PassRateSignals(passed, of), signal) for passed in range(of + 1)]
    rising = found[: of // 2 + 1]
    assert found[0] == 0
    assert all(one < two for one, two in pairwise(rising))
    assert found == pytest.approx(found[::-1], abs=1e-15)


@pytest.mark.parametrize("passed", range(9))
def test_the_energy_is_that_of_the_advantages(passed):
    rewards = [1.0] * passed + [0.0] * (8 - passed)
    squares = [one**2 for one in subtract_leave_one_out(rewards)]
    assert PassRateSignals(passed, 8).energy == pytest.approx(sum(squares) / 8, abs=1e-15)


def test_unscorable_members_are_left_out():
    assert compute_signals([1, None, 0, 0]) == PassRateSignals(1, 3)
    assert compute_signals([1, None]) is None
    assert compute_signals([]) is None


def test_what_has_no_pass_rate_is_refused():
    with pytest.raises(ValueError, match=r"reward 0\.5 has no pass rate"):
        compute_signals([1, 0.5])
    with pytest.raises(ValueError, match="3 of 2 replies passed"):
        PassRateSignals(3, 2)
    with pytest.raises(ValueError, match="1 of 1 replies passed"):
        PassRateSignals(1, 1)
