"""Read the names and phrases in an issue, and measure how much of them a patch repeats (pure)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from model.patches.edits import TOKEN, PatchEdit, find_names

_PHRASE_TOKENS = 5


@dataclass(frozen=True, slots=True)
class IssueNames:
    """The code identifiers and five-word phrases of an issue's text, to see which patches touch what it names."""

    names: frozenset[str]
    distinctive: frozenset[str]
    """Names that prose would not use: with an underscore, with a capital inside, or of an error."""
    phrases: frozenset[tuple[str, ...]]
    """Every five tokens in a row."""


def read_issue_names(text: str) -> IssueNames:
    """Collect the code identifiers and five-word phrases of `text`, an issue's text."""
    every = find_names(text)
    telling = {
        name
        for name in every
        if "_" in name.strip("_") or name.endswith("Error") or re.search("[a-z][A-Z]", name)
    }
    return IssueNames(every, frozenset(telling), frozenset(_split_phrases(text)))


def _split_phrases(text: str) -> Iterable[tuple[str, ...]]:
    tokens = TOKEN.findall(text)
    return zip(*(tokens[start:] for start in range(_PHRASE_TOKENS)), strict=False)


def measure_quotes(edit: PatchEdit, issue: IssueNames) -> float:
    """Return the share, 0 to 1, of five-word phrases in an edit's added lines that the issue contains too."""
    phrases = list(_split_phrases("\n".join(edit.added)))
    return sum(phrase in issue.phrases for phrase in phrases) / (len(phrases) + 1)
