"""Find the broken tests that a patch itself rewrites or removes, by the definitions of the code graph and by data.

A patch that changes behaviour on purpose brings new versions of the tests that hold the old behaviour. So such a test does
not show a mistake. It does not speak for the patch either: a wrong patch can bring tests that suit it.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from model.codegraph.reader_pool import ReadRequest, read_all
from model.errors import NoReader
from model.execution.regression import RegressionEvidence
from model.execution.tree_changes import TreeChanges

log = logging.getLogger(__name__)

_MOST_FILES: Final = 50
"""Changed Python files that are read, the first by path."""
_SECONDS: Final = 20.0
_ASSIGNMENT: Final = re.compile(rb"([A-Za-z_]\w*)\s*(?::[^=]*)?[-+*|&]?=(?!=)")
"""The start of a line that gives a name of a module its value, or adds to it."""
_WORD: Final = re.compile(rb"\w+")
_INSIDE: Final = b" \t)]}"
"""A line that starts with one of these continues the statement above it."""


def mark_rewritten(evidence: RegressionEvidence, changes: TreeChanges) -> RegressionEvidence:
    """Return the evidence with its broken tests that `changes` rewrite or remove, beside those already marked.

    `changes` are all changes of the patch, those of tests included. Where no process starts that could read them, the
    evidence stays as it is.
    """
    if not evidence.broken:
        return evidence
    try:
        marked = {*evidence.rewritten, *list_rewritten(evidence.broken, changes)}
    except NoReader as error:
        log.warning("it is not known which broken tests a patch rewrites: %s", error)
        return evidence
    return replace(evidence, rewritten=tuple(sorted(marked)))


def list_rewritten(tests: Sequence[str], changes: TreeChanges) -> Iterator[str]:
    """Return the tests that `changes` rewrite or remove, by their ids of pytest or unittest. Raises NoReader.

    A test counts if its function changes, or if a value of its module changes that the function names, such as a list of
    cases. White space does not count. A file that cannot be read, or has broken syntax, rewrites nothing.
    """
    names = {end for name in _list_names(changes) for end in _list_ends(name)}
    return (test for test in tests if _name_test(test) in names)


def _name_test(test: str) -> str:
    """Return the dotted name of a test, without its parameters: `tests.test_x.TestX.test_y`."""
    path, separator, name = test.partition("[")[0].partition("::")
    dotted = path.removesuffix(".py").replace("/", ".")
    return f"{dotted}.{name.replace('::', '.')}" if separator else path


def _list_ends(name: str) -> Iterator[str]:
    """Yield a dotted name and its ends, because a test runner may start in a folder of the tree.

    So a definition of `a/tests/test_x.py` also stands for a test of `tests/test_x.py`.
    """
    parts = name.split(".")
    return (".".join(parts[start:]) for start in range(len(parts) - 1))


def _list_names(changes: TreeChanges) -> Iterator[str]:
    """Yield the dotted name of each definition that the changes rewrite or remove, or whose data they change."""
    paths = sorted(path for path in changes.before if path.endswith(".py"))[:_MOST_FILES]
    before = _read_definitions({path: changes.before[path] for path in paths})
    after = _read_definitions({path: changes.written.get(path, b"") for path in paths})
    for path in before.keys() & after.keys():
        module = path.removesuffix(".py").replace("/", ".")
        changed = _find_changed_data(changes.before[path], changes.written.get(path, b""))
        for name, texts in before[path].items():
            words = {word for text in texts for word in _WORD.findall(text)}
            if after[path].get(name) != texts or changed & words:
                yield f"{module}.{name}"


def _find_changed_data(before: bytes, after: bytes) -> set[bytes]:
    """Return the names of a module whose values differ or are gone."""
    new = _read_data(after)
    return {name for name, value in _read_data(before).items() if new.get(name) != value}


def _read_data(text: bytes) -> Mapping[bytes, list[bytes]]:
    """Return the words of each assignment at the left edge of a module, by name.

    A text in three quotes may hold lines at the left edge. They end the assignment here, so a change below goes unseen.
    """
    values: dict[bytes, list[bytes]] = {}
    name = b""
    for line in text.splitlines():
        if not line.strip() or line.startswith(b"#"):
            continue
        if line[0] not in _INSIDE:
            match = _ASSIGNMENT.match(line)
            name = match[1] if match else b""
        if name:
            values.setdefault(name, []).extend(line.split())
    return values


def _read_definitions(texts: dict[str, bytes]) -> dict[str, dict[str, list[bytes]]]:
    """Return the words of each definition, by path and dotted name. A file that cannot be read is left out."""
    wanted = [ReadRequest("python", path) for path in texts]
    definitions: dict[str, dict[str, list[bytes]]] = {}
    for request, reading in read_all(wanted, texts.__getitem__, _SECONDS):
        if reading.reason is None and not reading.broken:
            by_name = definitions.setdefault(request.path, {})
            for row in reading.rows:
                text = texts[request.path][row.start_byte : row.end_byte]
                name = f"{row.scope}.{row.name}" if row.scope else row.name
                by_name.setdefault(name, []).append(b" ".join(text.split()))
    return definitions
