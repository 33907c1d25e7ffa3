"""Results of published verifiers, drawn as reference lines (pure).

Source: the R4P paper. Table 1 has R4P's accuracy, F1 and exact match. Figure 3 (a) has the accuracy of two
trajectory verifiers on the same 335 groups (1,340 patches, about half of them correct), and figure 3 (b) R4P's accuracy
on pairs. Section 5.2 has the resolution rates of figure 4. Figure 12 and the section on efficiency have the other values.
"""

PUBLISHED_RESULTS = {
    "R4P": {"accuracy": 0.722, "f1": 0.633, "exact_match": 0.418},
    "swe-gym-verifier-32b": {"accuracy": 0.619},
    "r2e-gym-verifier-14b": {"accuracy": 0.600},
}
"""Published metrics of each system, as shares from 0 to 1."""
PAIR_ACCURACY = 0.698
"""R4P's accuracy on pairs of a correct and an incorrect patch of one issue (section 5.2, figure 3 (b)).

Its baselines there are pair-wise reward models; the text names no value of theirs.
"""
COMPARISON_NOTE = (
    "The paper's values (R4P: its Table 1; the others: its Figure 3a) come from its own 335 groups (1,340 "
    "patches) of SWE-bench Verified, which are other groups. They are for orientation, not for "
    "comparison. The paper does not say how it averages F1; here F1 is over all patches."
)
BEST_OF_NOTE = (
    "In the paper, Mini-SE resolves 26.2 % of the 500 issues of SWE-bench Verified with one "
    "patch, and 32.8 % with the choice of R4P among 16 patches, by two rounds (r4p-two-rounds "
    "here). These are other candidates. The paper does not say how it draws fewer than 16."
)
UNANIMOUS_SHARE, ONE_DEVIATES_SHARE = 0.888, 0.032
"""Shares of the paper's patches with 0 and with 1 deviating reply among 32 replies at temperature 1."""
PAPER_SECONDS = 1.0
"""R4P needs less than this per patch, on two GPUs with 80 GB."""
CEILING = (
    "If the labels come from a benchmark's tests, about 20 % of the patches labelled correct are wrong (SWE-ABS). So a "
    "judge that is always right has an accuracy of about 0.90."
)
"""What a reader must know about an accuracy. `docs/limits.md` has the calculation and its source."""
