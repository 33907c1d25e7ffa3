"""Reads one file: which definitions stand in it, and where.

Parsing takes time and memory in proportion to the file, whatever is in it. To find
definitions can take the square of it on a file made for that, and can't be interrupted: `readers` ends the process.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tree_sitter import Node

from model.codegraph.definition_spans import Mark, marks
from model.codegraph.entities import Construct
from model.codegraph.languages import parser
from model.codegraph.python_syntax import is_valid

FILE_BYTES: Final = 512 * 1024
"""Larger files are left out: a parser needs up to 300 times a file's size for what only a machine writes."""
_SIGNATURE: Final = 400


class Row(NamedTuple):
    """A definition, as the index keeps it."""

    construct: str
    scope: str
    name: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str


class Reading(NamedTuple):
    """What was found in a file, whether its syntax is broken, and why it was left out if it was."""

    rows: list[Row]
    broken: bool = False
    reason: str | None = None
    size: int = 0
    """Of the content, in bytes."""
    lasting: bool = True
    """Whether reading the same content again would say the same."""


@dataclass(slots=True)
class _Around:
    """A definition or namespace that is open while those in it are read."""

    end: int
    scope: str
    kind: str


class _Outer(NamedTuple):
    """What a definition's range begins with."""

    start: int
    end: int
    row: int


_NOWHERE: Final = _Around(0, "", "")
_NO_OUTER: Final = _Outer(0, 0, 0)
_CLASS, _METHOD, _FUNCTION = (
    one.value for one in (Construct.CLASS, Construct.CLASS_METHOD, Construct.FUNCTION)
)


def refusal(content: bytes) -> str | None:
    """Why a file is not read; None: it is."""
    if len(content) > FILE_BYTES:
        return too_large(len(content))
    if b"\0" in content:
        return "holds NUL bytes: binary or UTF-16, not source in UTF-8"
    return None


def too_large(size: int) -> str:
    """What to say of a file above the limit."""
    return f"{size:,} bytes, more than {FILE_BYTES:,}"


def read(language: str, content: bytes) -> Reading:
    """The definitions of a file in a language whose grammar is installed."""
    if reason := refusal(content):
        return Reading([], reason=reason, size=len(content))
    root = parser(language).parse(content).root_node
    rows = list(_nested(_distinct(marks(language, root, content)), content))
    return Reading(rows, is_broken(language, root, content), size=len(content))


def is_broken(language: str, root: Node, content: bytes) -> bool:
    """Whether the file's syntax is broken. Python's own parser decides where tree-sitter sees an error."""
    return root.has_error and not (language == "python" and is_valid(content))


def _distinct(found: Iterable[Mark]) -> Iterator[Mark]:
    before = None
    for mark in found:
        place = mark.start, mark.before_end, mark.name
        if place != before:
            yield mark
        before = place


def _nested(found: Iterable[Mark], content: bytes) -> Iterator[Row]:
    """Rows of marks in the order of the file: each within those that are still open."""
    around: list[_Around] = []
    outer = _NO_OUTER
    for mark in found:
        start, end = mark.start, -mark.before_end
        if mark.kind == "outer":
            if outer.end < end:
                outer = _Outer(start, end, mark.node.start_point[0])
            continue
        while around and around[-1].end <= start:
            around.pop()
        inside = around[-1] if around else _NOWHERE
        scope = _joined(inside.scope, mark.scope)
        if mark.kind == "declaration" and inside.kind in {"function", "method"}:
            continue
        if mark.kind not in {"declaration", "alias"}:
            around.append(_Around(end, _joined(scope, mark.name), mark.kind))
        if mark.kind in {"impl", "namespace"}:
            continue
        first = outer if outer.end >= end else _Outer(start, end, mark.node.start_point[0])
        outer = _NO_OUTER
        yield Row(
            _construct(mark.kind, inside.kind),
            scope,
            mark.name,
            first.row + 1,
            _last_line(mark.node),
            first.start,
            end,
            _signature(mark.node, content),
        )


def _construct(kind: str, inside: str) -> str:
    if kind in {"class", "alias"}:
        return _CLASS
    return _METHOD if kind == "method" or inside in {"class", "impl"} else _FUNCTION


def _last_line(node: Node) -> int:
    """Some end after their line, at the beginning of the next one."""
    row, column = node.end_point
    return row + 1 if column else row


def _joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope and name else scope or name


def _signature(node: Node, content: bytes) -> str:
    """What stands before the body, on one line; without a body, the first line."""
    body = node.child_by_field_name("body")
    if body is None:
        head = content[node.start_byte : node.end_byte].partition(b"\n")[0]
    else:
        head = content[node.start_byte : body.start_byte]
        if b"#" in head:
            head = content[node.start_byte : _end_of_head(body)]
    words = " ".join(head.decode(errors="replace").split()).rstrip(":{ ")
    return words[:_SIGNATURE]


def _end_of_head(body: Node) -> int:
    """Where a head ends that may be followed by a comment before the body begins."""
    before = body.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    return before.end_byte if before is not None else body.start_byte
