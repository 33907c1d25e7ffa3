"""Which issues say the same, found without comparing each with each (pure)."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_TOKEN = re.compile(r"\w+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
"""What a form tells whoever fills it in, the same in every issue."""
_PHRASE = 5
"""Words in a row that are compared."""
_SKETCH = 64
"""Phrases of a text by which others like it are looked up: of texts that are alike some are the same."""
_COMMON = 50
"""Texts by which a phrase is looked up: one that more of them have is a form's, and tells nothing."""
ALIKE = 0.6
"""Share of all phrases of two texts that both have, from which on they are one issue told twice."""

Phrases = frozenset[int]


def phrases(text: str) -> Phrases:
    """Every five words in a row, hashed; of a shorter text the whole."""
    words = _TOKEN.findall(_COMMENT.sub(" ", text).lower())
    rows = range(max(1, len(words) - _PHRASE + 1))
    return frozenset(_number(" ".join(words[start : start + _PHRASE])) for start in rows)


def alike(one: Phrases, other: Phrases) -> bool:
    """Whether two texts are one issue."""
    return len(one & other) >= ALIKE * len(one | other)


class Known:
    """Texts by which others that say the same are found."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        """Of names and texts."""
        self._phrases: dict[str, Phrases] = {}
        self._names: dict[int, list[str]] = defaultdict(list)
        for name, text in texts:
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Know one more."""
        told = phrases(text)
        self._phrases[name] = told
        for number in _sketch(told):
            if len(self._names[number]) < _COMMON:
                self._names[number].append(name)

    def like(self, text: str) -> str | None:
        """The name of one that says the same; None: there is none."""
        told = phrases(text)
        names = dict.fromkeys(
            name for number in _sketch(told) for name in self._names.get(number, ())
        )
        return next((name for name in names if alike(told, self._phrases[name])), None)


class Clusters:
    """Names that belong together, directly or through others."""

    def __init__(self) -> None:
        """None yet."""
        self._parent: dict[str, str] = {}

    def join(self, one: str, other: str) -> None:
        """These two belong together."""
        self._parent[self.of(one)] = self.of(other)

    def of(self, name: str) -> str:
        """The name that stands for all of its cluster."""
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name


def by_shared(marks: Mapping[str, Iterable[str]]) -> Clusters:
    """Names joined wherever they share a mark."""
    found, seen = Clusters(), dict[str, str]()
    for name, own in marks.items():
        for mark in own:
            found.join(name, seen.setdefault(mark, name))
    return found


def _sketch(told: Phrases) -> list[int]:
    return sorted(told)[:_SKETCH]


def _number(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    )
