"""Show a tree to the model and read the suspicious files from its answer (pure)."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import PurePosixPath

from model.agents import think_tags
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_patch, restore_escapes

_LINE_FILES = 40
"""Files on one line of the outline. A larger folder takes several lines, and some of them may be left out."""
_MOST_FOLDED = 20
"""Most top folders that the outline names for files that are not listed."""
_LONGEST_TOKEN = 10
"""Upper bound of characters per token in a path. A text above it is too long without counting."""
_SHORTEST_WORD = 4
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|testing|specs?|fixtures?|examples?|docs?)(?:[/_.-]|$)")
_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"^(?:[-*+]|\d{1,2}[.)])\s+")
_UNLISTED = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that exclude a path: a line of the outline separates files by spaces."""
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
class TreeOutline:
    """A list of a tree's source files for the prompt, one folder a line, in a limited number of tokens."""

    text: str
    listed_files: int
    omitted_files: int
    """Number of files that did not fit. The text names their folders."""


@dataclass(frozen=True, slots=True)
class LocatedPaths:
    """The suspicious files that one reply of the model names, and its names that are not used."""

    paths: Paths
    unknown: tuple[str, ...] = ()
    """Names in the reply that look like paths but are not in the tree, even near misses. They are not used."""


@dataclass(frozen=True, slots=True)
class _Line:
    """Some files of one folder."""

    folder: str
    files: tuple[str, ...]
    rank: tuple[bool, float, int]
    """Sort key, smallest first: no tests; many rare words of the issue; close to the root."""

    @property
    def text(self) -> str:
        return f"{self.folder}: {' '.join(self.files)}"


def build_outline(
    paths: Iterable[str],
    issue: str,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    special_tokens: SpecialTokens = None,
) -> TreeOutline:
    """List a tree's source files for the prompt, in at most `max_tokens` tokens.

    `paths` are all files of the tree, and `issue` is the issue's text. When the files do not fit, whole lines are left
    out in this order: folders of tests and documents, then folders that share few or common words with the issue, then
    deep folders. The last line of the outline counts the omitted files by top folder. `special_tokens` are the engine's.
    """
    lines = sorted(_build_lines(paths, _extract_words(issue)), key=lambda line: line.rank)
    fits, too_many = 0, len(lines)
    while fits < too_many:
        middle = (fits + too_many + 1) // 2
        text = _render(lines, middle, special_tokens)
        if len(text) <= max_tokens * _LONGEST_TOKEN and count_tokens(text) <= max_tokens:
            fits = middle
        else:
            too_many = middle - 1
    listed = sum(len(line.files) for line in lines[:fits])
    omitted = sum(len(line.files) for line in lines) - listed
    return TreeOutline(_render(lines, fits, special_tokens), listed, omitted)


def read_paths(reply: str, tree_paths: Collection[str], max_paths: int) -> LocatedPaths:
    """Return the suspicious files that a model's reply names, at most `max_paths`.

    The names stand one a line in the last fenced block, or in the whole reply if it has no block. A line may have a
    bullet and backticks. Nothing else is repaired: a path that is not in `tree_paths` is not used.
    """
    answer = think_tags.strip_thought(reply) or ""
    blocks = _FENCED.findall(answer)
    named = [_strip_line(line) for line in (blocks[-1] if blocks else answer).splitlines()]
    paths = dict.fromkeys(name for name in named if name in tree_paths)
    unknown = dict.fromkeys(
        name for name in named if name not in tree_paths and _is_path_like(name)
    )
    return LocatedPaths(tuple(paths)[:max_paths], tuple(unknown))


def rank_file_sets(samples: Iterable[LocatedPaths]) -> tuple[Paths, ...]:
    """Return the distinct sets of located files, the most frequent first.

    `samples` holds the result of each localisation. The order of files inside a sample does not matter. In a tie the
    first sample comes first, and its file order is kept. A sample without files is ignored.
    """
    named = [sample.paths for sample in samples if sample.paths]
    counts = Counter(frozenset(paths) for paths in named)
    first: dict[frozenset[str], Paths] = {}
    for paths in named:
        first.setdefault(frozenset(paths), paths)
    return tuple(first[files] for files, _ in counts.most_common())


def assign_file_sets(sets: Sequence[Paths], samples: int) -> tuple[int, ...]:
    """Return, for each of `samples` repairs, the index of the file set that its prompt shows.

    The sets take turns, so that every set is tried. Without sets the result is empty.
    """
    return tuple(sample % len(sets) for sample in range(samples)) if sets else ()


def _build_lines(paths: Iterable[str], words: frozenset[str]) -> list[_Line]:
    folders: dict[str, list[PurePosixPath]] = {}
    for path in map(PurePosixPath, paths):
        if path.suffix.lower() in _SOURCES and not _UNLISTED.search(str(path)):
            folders.setdefault(f"{path.parent}/", []).append(path)
    cut = [
        (folder, names)
        for folder, files in folders.items()
        for names in _split_folder(files, words)
    ]
    shared = [words & _extract_words(" ".join([folder, *names])) for folder, names in cut]
    spread = Counter(word for some in shared for word in some)
    return [
        _Line(folder, names, _rank(folder, fsum(1 / spread[word] for word in some)))
        for (folder, names), some in zip(cut, shared, strict=True)
    ]


def _split_folder(files: list[PurePosixPath], words: frozenset[str]) -> list[tuple[str, ...]]:
    """Split the files of a folder into lines. Files that share words with the issue come first."""
    files.sort(key=lambda file: (-len(words & _extract_words(file.name)), file.name))
    cuts = (files[start : start + _LINE_FILES] for start in range(0, len(files), _LINE_FILES))
    return [tuple(sorted(file.name for file in some)) for some in cuts]


def _rank(folder: str, score: float) -> tuple[bool, float, int]:
    return bool(_TESTS.search(folder.lower())), -score, folder.count("/")


def _render(lines: Sequence[_Line], shown: int, special_tokens: SpecialTokens) -> str:
    """Render the first lines in tree order, and count the files of the others. Escape names of files and folders."""
    tree = sorted(lines[:shown], key=lambda line: (line.folder, line.files))
    folded: Counter[str] = Counter()
    for line in lines[shown:]:
        folded[f"{line.folder.partition('/')[0]}/"] += len(line.files)
    counts = folded.most_common(_MOST_FOLDED)
    if rest := folded.total() - sum(count for _, count in counts):
        counts.append(("elsewhere", rest))
    left_out = ", ".join(f"{folder} {count:,}" for folder, count in counts)
    rest_line = [f"Files not listed: {left_out}"] if left_out else []
    return escape_patch("\n".join([*(line.text for line in tree), *rest_line]), special_tokens).text


def _extract_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text) if len(word) >= _SHORTEST_WORD)


def _strip_line(line: str) -> str:
    return restore_escapes(_BULLET.sub("", line.strip()).strip("`").strip()).removeprefix("./")


def _is_path_like(text: str) -> bool:
    return bool(text) and not re.search(r"\s", text) and ("/" in text or "." in text)
