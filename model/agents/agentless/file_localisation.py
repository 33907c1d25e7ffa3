"""Where the cause of an issue may lie: what a model is shown of a tree, and what is read from its answer (pure)."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import PurePosixPath

from model.agents import think_tags
from model.prompts.untrusted import as_written, safe_patch

_LINE_FILES = 40
"""Files on one line of the outline; of larger folders some lines may be left out."""
_MOST_FOLDED = 20
"""Top folders that are named for what is not listed."""
_LONGEST_TOKEN = 10
"""Characters that a token of a path holds on average at the very most; a longer outline is too long uncounted."""
_SHORTEST_WORD = 4
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|testing|specs?|fixtures?|examples?|docs?)(?:[/_.-]|$)")
_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"^(?:[-*+]|\d{1,2}[.)])\s+")
_UNLISTED = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]")
"""In a path: a line of the outline parts its files by spaces."""
_SOURCES = frozenset(
    f".{suffix}"
    for line in """py pyi pyx js jsx mjs cjs ts tsx mts cts vue svelte java kt kts scala groovy clj go rs c h cc cpp
    cxx hh hpp hxx cs fs vb m mm swift rb php pl pm lua r jl dart ex exs erl hs ml mli nim zig d f f90 sh sql
    proto""".splitlines()
    for suffix in line.split()
)


Paths = tuple[str, ...]
"""Files of a tree, the most suspicious first."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A tree's source files, a folder a line, in as few tokens as it may take."""

    text: str
    listed: int
    folded: int
    """Files that there was no room for; the text says in which folders."""


@dataclass(frozen=True, slots=True)
class Located:
    """What one answer names."""

    paths: Paths
    unknown: tuple[str, ...] = ()
    """What looks like a path and is none of the tree; dropped, however near a miss it is."""


@dataclass(frozen=True, slots=True)
class _Line:
    """Some files of one folder."""

    folder: str
    files: tuple[str, ...]
    rank: tuple[bool, float, int]
    """Less is shown first: no tests; words of the issue, one that is everywhere counting little; near the root."""

    @property
    def text(self) -> str:
        return safe_patch(f"{self.folder}: {' '.join(self.files)}").text


def outline(
    paths: Iterable[str], issue: str, room: int, count_tokens: Callable[[str], int]
) -> Outline:
    """The tree's source files in at most `room` tokens.

    Where they don't fit, folders are left out: those of tests and documents first, then those whose paths share the
    fewest and the commonest words with the issue, of these the deepest. What is left out is said by top folder.
    """
    lines = sorted(_lines_of(paths, _words(issue)), key=lambda line: line.rank)
    fits, most = 0, len(lines)
    while fits < most:
        middle = (fits + most + 1) // 2
        text = _text(lines, middle)
        if len(text) <= room * _LONGEST_TOKEN and count_tokens(text) <= room:
            fits = middle
        else:
            most = middle - 1
    listed = sum(len(line.files) for line in lines[:fits])
    return Outline(_text(lines, fits), listed, sum(len(one.files) for one in lines) - listed)


def read_paths(reply: str, known: Collection[str], most: int) -> Located:
    """The files that an answer names: the lines of its last fenced block, or all its lines where it has none.

    A line may have a bullet and backticks. Nothing else is mended: a path that is not in the tree is dropped.
    """
    answer = think_tags.answer(reply) or ""
    blocks = _FENCED.findall(answer)
    named = [_bare(line) for line in (blocks[-1] if blocks else answer).splitlines()]
    paths = dict.fromkeys(one for one in named if one in known)
    unknown = dict.fromkeys(one for one in named if one not in known and _like_path(one))
    return Located(tuple(paths)[:most], tuple(unknown))


def distinct(samples: Iterable[Located]) -> tuple[Paths, ...]:
    """The different sets of files among the samples, in whatever order those name them; the most frequent first.

    Of equally frequent ones the first sampled comes first, with its order of files. Samples without a file are none.
    """
    named = [sample.paths for sample in samples if sample.paths]
    counts = Counter(frozenset(paths) for paths in named)
    first: dict[frozenset[str], Paths] = {}
    for paths in named:
        first.setdefault(frozenset(paths), paths)
    return tuple(first[files] for files, _ in counts.most_common())


def dealt(sets: Sequence[Paths], samples: int) -> tuple[int, ...]:
    """For each of the repair samples the place of its set: in turns, so that every set is tried."""
    return tuple(sample % len(sets) for sample in range(samples)) if sets else ()


def _lines_of(paths: Iterable[str], words: frozenset[str]) -> list[_Line]:
    folders: dict[str, list[PurePosixPath]] = {}
    for path in map(PurePosixPath, paths):
        if path.suffix.lower() in _SOURCES and not _UNLISTED.search(str(path)):
            folders.setdefault(f"{path.parent}/", []).append(path)
    cut = [(folder, names) for folder, files in folders.items() for names in _cut(files, words)]
    shared = [words & _words(" ".join([folder, *names])) for folder, names in cut]
    spread = Counter(word for some in shared for word in some)
    return [
        _Line(folder, names, _rank(folder, fsum(1 / spread[word] for word in some)))
        for (folder, names), some in zip(cut, shared, strict=True)
    ]


def _cut(files: list[PurePosixPath], words: frozenset[str]) -> list[tuple[str, ...]]:
    """The files of a folder in lines, those with words of the issue on the first."""
    files.sort(key=lambda file: (-len(words & _words(file.name)), file.name))
    cuts = (files[at : at + _LINE_FILES] for at in range(0, len(files), _LINE_FILES))
    return [tuple(sorted(file.name for file in some)) for some in cuts]


def _rank(folder: str, score: float) -> tuple[bool, float, int]:
    return bool(_TESTS.search(folder.lower())), -score, folder.count("/")


def _text(lines: Sequence[_Line], shown: int) -> str:
    """The outline of the first lines, in the order of the tree, and what the others hold."""
    tree = sorted(lines[:shown], key=lambda line: (line.folder, line.files))
    folded: Counter[str] = Counter()
    for line in lines[shown:]:
        folded[f"{line.folder.partition('/')[0]}/"] += len(line.files)
    said = folded.most_common(_MOST_FOLDED)
    if rest := folded.total() - sum(count for _, count in said):
        said.append(("elsewhere", rest))
    left_out = ", ".join(f"{folder} {count:,}" for folder, count in said)
    return "\n".join(
        [*(line.text for line in tree), *([f"Files not listed: {left_out}"] if left_out else [])]
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text) if len(word) >= _SHORTEST_WORD)


def _bare(line: str) -> str:
    return as_written(_BULLET.sub("", line.strip()).strip("`").strip()).removeprefix("./")


def _like_path(text: str) -> bool:
    return bool(text) and not re.search(r"\s", text) and ("/" in text or "." in text)
