"""Detect words of a hint in a text (pure).

The unit is a run of five adjacent words, or a whole line with fewer words. Punctuation between words is ignored. A
single word and a path of the tree are no evidence. A paraphrase is not found.
"""

import re
from collections.abc import Iterable

from model.agents.trajectories.guidance import Guidance, get_hint_text
from model.prompts.untrusted import restore_escapes

_LENGTH = 5
_SHORTEST = 2
_WORD = re.compile(r"\w+")
_ESCAPED = re.compile(r"\\[nrtbf]")
"""White space as JSON escapes it inside a reply or a call."""


def find_word_runs(guidance: Guidance) -> frozenset[str]:
    """Return every run of five adjacent words of a hint. A line of two to four words is one run.

    A text that contains such a run quotes the hint. `drop_public_runs` searches texts for the runs.
    """
    text = get_hint_text(guidance)
    for path in guidance.locations:
        text = text.replace(path, "\n")
    return frozenset(run for line in text.split("\n") for run in _split_runs(_split_words(line)))


def drop_public_runs(runs: frozenset[str], texts: Iterable[str]) -> frozenset[str]:
    """Return those of a hint's word runs that occur in none of `texts`.

    `texts` are what else the model was shown: words from there prove no quotation of the hint.
    """
    for spaced in map(_normalise, texts):
        runs = frozenset(run for run in runs if run not in spaced)
    return runs


def _split_runs(line: list[str]) -> Iterable[str]:
    length = min(_LENGTH, len(line))
    for start in range(len(line) - length + 1 if length >= _SHORTEST else 0):
        yield _join(line[start : start + length])


def _normalise(text: str) -> str:
    return _join(_split_words(text))


def _join(some: list[str]) -> str:
    return f" {' '.join(some)} "


def _split_words(text: str) -> list[str]:
    return _WORD.findall(_ESCAPED.sub(" ", restore_escapes(text)).casefold())
