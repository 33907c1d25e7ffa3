"""How alike two patches are, cheaply: by the words of the lines they change (pure)."""

import re
from collections import Counter

_WORD = re.compile(r"\w+|[^\w\s]")


def changed_words(diff: str) -> Counter[str]:
    """The words and signs on the lines that a unified diff removes or adds, with their side, and how often each."""
    return Counter(
        line[0] + word
        for line in diff.splitlines()
        if line[:1] in {"+", "-"} and not line.startswith(("+++", "---"))
        for word in _WORD.findall(line[1:])
    )


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of words that two bags have in common, 0…1 (Jaccard, counting repeats); empty bags are alike."""
    union = (one | other).total()
    return (one & other).total() / union if union else 1.0
