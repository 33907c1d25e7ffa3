"""The Wilson interval of a share (pure, and free of numpy for light processes).

E. B. Wilson, Journal of the American Statistical Association 22, 1927.
"""

_Z = 1.959964
"""Standard normal quantile for 95 %."""


def compute_wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """Compute the bounds (low, high) of the 95 % Wilson interval of a share; (0, 1) for 0 trials."""
    if not trials:
        return 0.0, 1.0
    share, square = successes / trials, _Z * _Z
    middle = share + square / (2 * trials)
    spread = _Z * ((share * (1 - share) + square / (4 * trials)) / trials) ** 0.5
    whole = 1 + square / trials
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)
