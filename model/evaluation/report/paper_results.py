"""What others have reported, drawn as reference lines (pure).

Source: the paper on R4P. Its Table 1 has R4P's accuracy, F1 and exact match, its Figure 3 (a) the accuracy of two
trajectory verifiers on the same 335 groups (1,340 patches, about half of them correct); Figure 12 and the section on
efficiency have the rest.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reported:
    """One system's figures, shares in 0…1; None where none are given."""

    name: str
    accuracy: float
    f1: float | None = None
    exact_match: float | None = None


REPORTED = (
    Reported("R4P", 0.722, 0.633, 0.418),
    Reported("swe-gym-verifier-32b", 0.619),
    Reported("r2e-gym-verifier-14b", 0.600),
)
TERMS = (
    "The paper's figures (R4P: its Table 1; the others: its Figure 3a) were measured on its own 335 groups (1,340 patches) of SWE-bench Verified, which are not these: "
    "they are marks to look at, not rivals in a comparison. How it averages F1 is not said; here F1 is over all patches."
)
UNANIMOUS, ONE_DEVIATES = 0.888, 0.032
"""Of its patches, those with no and with one deviating reply among 32 at temperature 1."""
SECONDS = 1.0
"""A patch takes R4P less, on two GPUs of 80 GB."""
