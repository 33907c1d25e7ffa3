"""The ceiling of every figure: what the errors of labels leave for a judge that is always right."""

from typing import Final

CEILING: Final = (
    "If the labels come from a benchmark's tests, about 20 % of the patches labelled correct are wrong (SWE-ABS). So a "
    "judge that is always right has an accuracy of about 0.90."
)
"""What a reader must know about an accuracy. `docs/limits.md` has the calculation and its source."""
