"""The interval of a share of a few trials (pure; loads nothing, for processes that stay light).

E. B. Wilson, Journal of the American Statistical Association 22, 1927.
"""

_Z = 1.959964
"""The standard normal quantile of 95 %."""


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % Wilson interval of a share; 0 to 1 without trials."""
    if not trials:
        return 0.0, 1.0
    share, square = successes / trials, _Z * _Z
    middle = share + square / (2 * trials)
    spread = _Z * ((share * (1 - share) + square / (4 * trials)) / trials) ** 0.5
    whole = 1 + square / trials
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)
