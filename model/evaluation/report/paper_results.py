"""Results of published verifiers, drawn as reference lines (pure).

Source: the R4P paper. Table 1 has R4P's accuracy, F1 and exact match. Figure 3 (a) has the accuracy of two
trajectory verifiers on the same 335 groups (1,340 patches, about half of them correct). Figure 12 and the
section on efficiency have the other values.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """The published metrics of one system, as shares from 0 to 1; None where the paper has no value."""

    name: str
    accuracy: float
    f1: float | None = None
    exact_match: float | None = None


PUBLISHED_RESULTS = (
    PublishedResult("R4P", 0.722, 0.633, 0.418),
    PublishedResult("swe-gym-verifier-32b", 0.619),
    PublishedResult("r2e-gym-verifier-14b", 0.600),
)
COMPARISON_NOTE = (
    "The paper's values (R4P: its Table 1; the others: its Figure 3a) come from its own 335 groups (1,340 "
    "patches) of SWE-bench Verified, which are other groups. They are for orientation, not for "
    "comparison. The paper does not say how it averages F1; here F1 is over all patches."
)
UNANIMOUS_SHARE, ONE_DEVIATES_SHARE = 0.888, 0.032
"""Shares of the paper's patches with 0 and with 1 deviating reply among 32 replies at temperature 1."""
PAPER_SECONDS = 1.0
"""R4P needs less than this per patch, on two GPUs with 80 GB."""
