"""Find near-duplicate texts without comparing every pair, by hashed word shingles (pure)."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_TOKEN = re.compile(r"\w+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
"""HTML comments of issue forms, which are the same in every issue."""
_PHRASE = 5
"""Words in one shingle."""
_SKETCH = 64
"""Shingles of a text that are indexed: the smallest hashes, so similar texts share some."""
_COMMON = 50
"""A shingle stops being indexed after this many texts: it comes from a form."""
MIN_SHARED = 0.6
"""Two texts are near-duplicates from this Jaccard similarity on."""

Shingles = frozenset[int]


def hash_shingles(text: str) -> Shingles:
    """Return the hashes of every five consecutive words of a text. A shorter text gives one hash."""
    words = _TOKEN.findall(_COMMENT.sub(" ", text).lower())
    rows = range(max(1, len(words) - _PHRASE + 1))
    return frozenset(_hash_words(" ".join(words[start : start + _PHRASE])) for start in rows)


def is_near_duplicate(first: Shingles, second: Shingles) -> bool:
    """Return whether two texts, given by their `hash_shingles`, have a Jaccard similarity of at least MIN_SHARED."""
    return len(first & second) >= MIN_SHARED * len(first | second)


class NearDuplicateIndex:
    """An index of named texts that finds near-duplicates of a new text."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        """Index pairs of name and text."""
        self._shingles: dict[str, Shingles] = {}
        self._names: dict[int, list[str]] = defaultdict(list)
        for name, text in texts:
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Add a text to the index under `name`."""
        shingles = hash_shingles(text)
        self._shingles[name] = shingles
        for number in _select_sketch(shingles):
            if len(self._names[number]) < _COMMON:
                self._names[number].append(name)

    def find(self, text: str) -> str | None:
        """Return the name of an indexed text that is a near-duplicate of `text`, or None."""
        shingles = hash_shingles(text)
        names = dict.fromkeys(
            name for number in _select_sketch(shingles) for name in self._names.get(number, ())
        )
        return next(
            (name for name in names if is_near_duplicate(shingles, self._shingles[name])), None
        )


class Clusters:
    """Disjoint sets of names (union-find). At first every name is a set of its own."""

    def __init__(self) -> None:
        """Start with every name alone."""
        self._parent: dict[str, str] = {}

    def join(self, first: str, second: str) -> None:
        """Merge the set that contains `first` with the set that contains `second`."""
        self._parent[self.find_root(first)] = self.find_root(second)

    def find_root(self, name: str) -> str:
        """Return the name that represents the set of `name`. Names of one set have the same root."""
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name


def cluster_by_shared(marks: Mapping[str, Iterable[str]]) -> Clusters:
    """Return the sets of names that share at least one mark, directly or through other names.

    `marks` maps each name to its marks, such as the edits of an issue.
    """
    clusters, seen = Clusters(), dict[str, str]()
    for name, own in marks.items():
        for mark in own:
            clusters.join(name, seen.setdefault(mark, name))
    return clusters


def _select_sketch(shingles: Shingles) -> list[int]:
    return sorted(shingles)[:_SKETCH]


def _hash_words(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    )
