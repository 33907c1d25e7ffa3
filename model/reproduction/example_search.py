"""Find the test file of a tree that is nearest to an issue, as an example for the model that writes tests.

SWE-RL, appendix B: Agentless Mini "retrieves a relevant test file to guide test generation". The paper does not say how.
Here the words of the issue rank the files by BM25.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from model.errors import WorkspaceError
from model.execution.screening.patch_screening import is_test_file

_MOST_FILES: Final = 200
"""Most files that are read. Those whose paths share words with the issue come first."""
_MOST_BYTES: Final = 256 * 1024
"""A longer file is no example."""
_NO_EXAMPLES: Final = frozenset(
    {"conftest.py", "__init__.py", "setup.py", "runtests.py", "manage.py"}
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORTEST_WORD: Final = 3
_SATURATION, _LENGTH_WEIGHT = 1.5, 0.75
"""The usual k1 and b of BM25."""


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """A test file of the repository."""

    path: str
    text: str


def find_example(
    paths: Iterable[str], issue: str, read: Callable[[str], bytes]
) -> ExampleFile | None:
    """Return the test file that is nearest to the text of an issue; None where no file shares a word with it.

    `paths` are all files of the tree. `read` returns the content of one and raises WorkspaceError.
    """
    words = frozenset(_list_words(issue))
    tests = sorted(
        (path for path in paths if _is_example(path)),
        key=lambda path: (-len(words.intersection(_list_words(path))), path),
    )
    texts: dict[str, str] = {}
    for path in tests[:_MOST_FILES]:
        try:
            content = read(path)
        except (WorkspaceError, OSError):
            continue
        if len(content) <= _MOST_BYTES and b"\0" not in content:
            texts[path] = content.decode(errors="replace")
    scores = score_files(words, texts)
    best = max(scores, key=lambda path: (scores[path], path), default=None)
    return ExampleFile(best, texts[best]) if best and scores[best] > 0 else None


def score_files(words: Iterable[str], texts: Mapping[str, str]) -> dict[str, float]:
    """Return the BM25 score of each file for a query of words. `texts` holds the files' texts by path."""
    counts = {path: Counter(_list_words(f"{path}\n{text}")) for path, text in texts.items()}
    lengths = {path: count.total() for path, count in counts.items()}
    mean = sum(lengths.values()) / len(lengths) if lengths else 0.0
    scores = dict.fromkeys(counts, 0.0)
    for word in sorted(words):
        holders = [path for path, count in counts.items() if word in count]
        rarity = math.log(1 + (len(counts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for path in holders:
            times = counts[path][word]
            room = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[path] / mean
            scores[path] += rarity * times * (_SATURATION + 1) / (times + _SATURATION * room)
    return scores


def _is_example(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".py") and name not in _NO_EXAMPLES and is_test_file(path)


def _list_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if len(word) >= _SHORTEST_WORD]
