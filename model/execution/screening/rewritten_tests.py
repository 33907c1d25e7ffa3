"""Find the broken tests that a patch itself rewrites or removes. It compares their functions and the module values that they use.

A patch that changes behaviour on purpose brings new versions of the tests that hold the old behaviour. So such a test does
not show a mistake. It does not speak for the patch either: a wrong patch can bring tests that suit it.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from model.codegraph.reader_pool import ReadRequest, read_all
from model.errors import NoReader
from model.execution.regression import RegressionEvidence
from model.execution.screening.module_syntax import (
    MODULE_BYTES,
    DefinitionSyntax,
    ModuleContent,
    read_syntax,
)
from model.execution.tree_changes import TreeChanges

log = logging.getLogger(__name__)

_MOST_FILES: Final = 50
"""Changed files of broken tests that are read, the first by path."""
_SYNTAX_BYTES: Final = 1024**2
"""Limit for all modules that are compared by their syntax, each before and after the patch."""
_READ_SECONDS: Final = 20.0
_MOST_NAMES: Final = 5
"""Names of classes and functions at the end of a dotted id, after the name of its module."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=]*)?[-+*|&]?=(?!=)")
"""The start of a line that gives a name of a module its value, or adds to it."""
_WORD: Final = re.compile(r"\w+")
_CONTINUATION_CHARACTERS: Final = " \t)]}"
"""A line that starts with one of these characters continues the statement above it."""


class _Place(NamedTuple):
    """A file and the dotted name of a definition in it."""

    path: str
    name: str


def mark_rewritten(
    evidence: RegressionEvidence, changes: TreeChanges, tree: Path | None = None
) -> RegressionEvidence:
    """Return the evidence with its broken tests that `changes` rewrite or remove, beside those already marked.

    `changes` are all changes of the patch, those of tests included. `tree` is the folder that they change. If no reader
    process starts, return the evidence unchanged.
    """
    if not evidence.broken:
        return evidence
    try:
        marked = {*evidence.rewritten, *list_rewritten(evidence.broken, changes, tree)}
    except NoReader as error:
        log.warning("it is not known which broken tests a patch rewrites: %s", error)
        return evidence
    return replace(evidence, rewritten=tuple(sorted(marked)))


def list_rewritten(
    tests: Sequence[str], changes: TreeChanges, tree: Path | None = None
) -> Iterator[str]:
    """Return the tests that `changes` rewrite or remove, by their ids of pytest or unittest. Raises NoReader.

    A test counts if its function changes, or if a value of its module changes that the function reads, such as a list of
    cases. Comments, docstrings and layout do not count. A file that cannot be read, or has broken syntax, rewrites nothing.

    An id also stands for a longer path that ends like it, because a test runner may start in a folder of the tree. It does
    not if `tree`, or without it the changed files, holds a file of that exact path.
    """
    finder = _FileFinder(changes, tree)
    places = {test: finder.find_places(test) for test in tests}
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for path, name in chain.from_iterable(places.values()):
        wanted[path].add(name)
    rewritten = set(_find_rewritten(wanted, changes))
    return (test for test in tests if not rewritten.isdisjoint(places[test]))


class _FileFinder:
    """Finds the changed files that ids of tests name."""

    def __init__(self, changes: TreeChanges, tree: Path | None) -> None:
        self._changed = changes.before
        self._tree = tree
        self._by_file_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in changes.before:
            self._by_file_name[path.rpartition("/")[2]].append(path)

    def find_places(self, test: str) -> list[_Place]:
        """Return where the changed files may define a test."""
        places = list(_list_places(test))
        exact = [place for place in places if place.path in self._changed]
        if exact or any(self._is_file(path) for path, _ in places):
            return exact
        return [
            _Place(longer, name)
            for path, name in places
            for longer in self._by_file_name.get(path.rpartition("/")[2], ())
            if longer.endswith(f"/{path}")
        ]

    def _is_file(self, path: str) -> bool:
        if self._tree is not None:
            with suppress(OSError):  # such as a name that is too long
                return (self._tree / path).is_file()
        return False


def _list_places(test: str) -> Iterator[_Place]:
    """Yield each file that an id may name, with the name of the test in it, which has no parameters."""
    plain = test.partition("[")[0]
    path, separator, name = plain.partition("::")
    if separator and path.endswith(".py"):
        yield _Place(path, name.replace("::", "."))
        return
    parts = plain.replace("::", ".").split(".")
    for count in range(1, min(_MOST_NAMES, len(parts) - 1) + 1):
        yield _Place(f"{'/'.join(parts[:-count])}.py", ".".join(parts[-count:]))


def _find_rewritten(wanted: Mapping[str, set[str]], changes: TreeChanges) -> Iterator[_Place]:
    """Yield each wanted definition that the changes rewrite or remove, or whose values they change."""
    for path, before, after in _read_versions(wanted, changes):
        changed = {name for name, value in before.values.items() if after.values.get(name) != value}
        for name in wanted[path] & before.definitions.keys():
            definitions = before.definitions[name]
            reads_changed = any(not changed.isdisjoint(each.names) for each in definitions)
            if reads_changed or after.definitions.get(name) != definitions:
                yield _Place(path, name)


def _read_versions(
    wanted: Mapping[str, set[str]], changes: TreeChanges
) -> Iterator[tuple[str, ModuleContent, ModuleContent]]:
    """Yield path, old and new content of each wanted file that can be read: by its syntax, else by its words."""
    left = _SYNTAX_BYTES
    for_words = []
    for path in sorted(wanted)[:_MOST_FILES]:
        texts = changes.before[path], changes.written.get(path, b"")
        size = sum(map(len, texts))
        is_small = size <= left and max(map(len, texts)) <= MODULE_BYTES
        left -= size * is_small
        before, after = (read_syntax(text, wanted[path]) if is_small else None for text in texts)
        if before is None or after is None:
            for_words.append(path)
        else:
            yield path, before, after
    old = _read_words({path: changes.before[path] for path in for_words})
    new = _read_words({path: changes.written.get(path, b"") for path in for_words})
    yield from ((path, old[path], new[path]) for path in for_words if path in old and path in new)


def _read_words(texts: Mapping[str, bytes]) -> dict[str, ModuleContent]:
    """Return the words of each module, by path. A file that cannot be read is left out."""
    wanted = [ReadRequest("python", path) for path in texts]
    contents: dict[str, ModuleContent] = {}
    for request, reading in read_all(wanted, texts.__getitem__, _READ_SECONDS):
        if reading.reason is None and not reading.broken:
            definitions: dict[str, list[DefinitionSyntax]] = {}
            for row in reading.rows:
                source = texts[request.path][row.start_byte : row.end_byte]
                name = f"{row.scope}.{row.name}" if row.scope else row.name
                text = " ".join(source.decode(errors="replace").split())
                definition = DefinitionSyntax(text, frozenset(_WORD.findall(text)))
                definitions.setdefault(name, []).append(definition)
            values = _read_module_values(texts[request.path])
            contents[request.path] = ModuleContent(definitions, values)
    return contents


def _read_module_values(text: bytes) -> Mapping[str, list[str]]:
    """Return the words of each assignment at the left edge of a module, by name.

    A text in three quotes may hold lines at the left edge. They end the assignment here, so a change below goes unseen.
    """
    values: dict[str, list[str]] = {}
    name = ""
    for line in (part.decode(errors="replace") for part in text.splitlines()):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] not in _CONTINUATION_CHARACTERS:
            match = _ASSIGNMENT.match(line)
            name = match[1] if match else ""
        if name:
            values.setdefault(name, []).extend(line.split())
    return values
