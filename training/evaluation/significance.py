"""Whether two judges of the same issues differ: paired, by issue (pure).

Patches of an issue stand or fall together, so issues are drawn with replacement and never patches. For one decision
an issue there is the exact test of McNemar (Psychometrika 12, 1947), which knows of no approximation.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import comb

import numpy as np

from model.evaluation.bootstrap import Estimate, Issues, estimate
from model.evaluation.judgement_columns import Indices

Statistic = Callable[[Indices, Indices], float]
"""A number of some rows of patches and some rows of groups; NaN where it is not defined."""


def estimates(
    of: Mapping[str, Statistic], by: Issues, *, shares: Collection[str] = (), seed: int = 0
) -> dict[str, Estimate]:
    """Each number with its 95 % interval, all from the same draws of issues.

    `shares`: those whose interval is Wilson's at 0 and 1, for what was always so in a few issues need not stay so.
    """
    return _estimates({name: (one, None) for name, one in of.items()}, by, shares, seed)


def differences(
    one: Mapping[str, Statistic], other: Mapping[str, Statistic], by: Issues, *, seed: int = 0
) -> dict[str, Estimate]:
    """What `one` has more of than `other`, with 95 % intervals: the same issues in every draw, so chance is shared.

    Raises KeyError when `other` lacks a number.
    """
    return _estimates({name: (value, other[name]) for name, value in one.items()}, by, (), seed)


def mcnemar(only_one: int, only_other: int) -> float:
    """The two-sided p-value that both are right equally often, by those issues that one alone is right on."""
    return min(1.0, 2 * min(worse(only_one, only_other), worse(only_other, only_one)))


def worse(only_one: int, only_other: int) -> float:
    """The one-sided p-value against `one` being no worse: small when `other` alone is right far more often."""
    trials = only_one + only_other
    return float(sum(comb(trials, hits) for hits in range(only_other, trials + 1)) / 2**trials)


def told(p: float) -> str:
    """A p-value for people: none is 0."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def discordant(one: Sequence[bool], other: Sequence[bool]) -> tuple[int, int]:
    """On how many issues one alone is right, and on how many the other alone."""
    pairs = list(zip(one, other, strict=True))
    return sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)


_Pair = tuple[Statistic, Statistic | None]


def _estimates(
    pairs: Mapping[str, _Pair], by: Issues, shares: Collection[str], seed: int
) -> dict[str, Estimate]:
    patches, groups = (np.concatenate(rows) for rows in (by.patches, by.groups))
    drawn = np.asarray(
        [[_value(pair, *rows) for pair in pairs.values()] for rows in by.draws(seed)]
    )
    return {
        name: estimate(
            _value(pair, patches, groups),
            drawn[:, at],
            len(by.groups),
            _trials(pair, by) if name in shares else None,
        )
        for at, (name, pair) in enumerate(pairs.items())
    }


def _trials(pair: _Pair, by: Issues) -> int:
    """The issues that a share is of: of those in which nothing is counted it says nothing."""
    each = (_value(pair, *rows) for rows in zip(by.patches, by.groups, strict=True))
    return sum(not np.isnan(one) for one in each)


def _value(pair: _Pair, patches: Indices, groups: Indices) -> float:
    first, second = pair
    return first(patches, groups) - (second(patches, groups) if second else 0.0)
