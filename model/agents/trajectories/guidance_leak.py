"""Whether a text holds words of a hint (pure).

Counted are runs of words, whatever stands between them: five in a row, or a whole line where a line has fewer. A single
word is nobody's, and a path is the tree's. A hint that is told in other words is not found.
"""

import re
from collections.abc import Iterable

from model.agents.trajectories.guidance import Guidance, words
from model.prompts.untrusted import as_written

_LENGTH = 5
_SHORTEST = 2
_WORD = re.compile(r"\w+")
_ESCAPED = re.compile(r"\\[nrtbf]")
"""As JSON writes space, within a reply or a call."""


def runs(guidance: Guidance) -> frozenset[str]:
    """What would give the hint away."""
    text = words(guidance)
    for path in guidance.locations:
        text = text.replace(path, "\n")
    return frozenset(run for line in text.split("\n") for run in _runs(_words(line)))


def unknown(runs: frozenset[str], texts: Iterable[str]) -> frozenset[str]:
    """Those that are in none of the texts: what stands elsewhere too gives nothing away."""
    for spaced in map(_spaced, texts):
        runs = frozenset(run for run in runs if run not in spaced)
    return runs


def _runs(line: list[str]) -> Iterable[str]:
    length = min(_LENGTH, len(line))
    for at in range(len(line) - length + 1 if length >= _SHORTEST else 0):
        yield _joined(line[at : at + length])


def _spaced(text: str) -> str:
    return _joined(_words(text))


def _joined(some: list[str]) -> str:
    return f" {' '.join(some)} "


def _words(text: str) -> list[str]:
    return _WORD.findall(_ESCAPED.sub(" ", as_written(text)).casefold())
