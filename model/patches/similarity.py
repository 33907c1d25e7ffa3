"""This module measures how similar two patches are, by the words on their changed lines (pure)."""

import re
from collections import Counter

_WORD = re.compile(r"\w+|[^\w\s]")


def count_changed_words(diff: str) -> Counter[str]:
    """Count the words and signs on the removed and added lines of a diff, each with its sign in front."""
    return Counter(
        line[0] + word
        for line in diff.splitlines()
        if line[:1] in {"+", "-"} and not line.startswith(("+++", "---"))
        for word in _WORD.findall(line[1:])
    )


def measure_overlap(left: Counter[str], right: Counter[str]) -> float:
    """Return the share of words that two bags have in common, from 0 to 1 (Jaccard with repeats). Empty bags give 1."""
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0
