"""Read the definitions of one source file and their places.

Parsing is linear in the file's size. Finding definitions can be quadratic in a hostile file and cannot be
interrupted, so `reader_pool` runs it in a process with a CPU limit.
"""

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tree_sitter import Node

from model.codegraph.definition_spans import DefinitionSpan, find_spans
from model.codegraph.entities import EntityKind
from model.codegraph.languages import create_parser

FILE_BYTES: Final = 512 * 1024
"""Larger files are left out. For generated code a parser needs up to 300 times the file's size."""
_SIGNATURE: Final = 400


class DefinitionRow(NamedTuple):
    """A class, function or method as the code graph's index stores it.

    `construct` is a value of EntityKind, and `scope` holds the enclosing names, joined by dots.
    """

    construct: str
    scope: str
    name: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str


class FileDefinitions(NamedTuple):
    """The definitions found in a source file, and whether its syntax is broken.

    `reason` says why the file was left out; None when it was not.
    """

    rows: list[DefinitionRow]
    broken: bool = False
    reason: str | None = None
    size: int = 0
    """Size of the content in bytes."""
    is_repeatable: bool = True
    """Whether the same content would give the same result again. Only such results are stored."""


@dataclass(slots=True)
class _Enclosing:
    """A definition or namespace that encloses the current position."""

    end: int
    scope: str
    kind: str


class _Outer(NamedTuple):
    """The start of a definition's range, such as its decorators."""

    start: int
    end: int
    row: int


_NOWHERE: Final = _Enclosing(0, "", "")
_NO_OUTER: Final = _Outer(0, 0, 0)
_CLASS, _METHOD, _FUNCTION = (
    kind.value for kind in (EntityKind.CLASS, EntityKind.CLASS_METHOD, EntityKind.FUNCTION)
)


def explain_unreadable(content: bytes) -> str | None:
    """Return the reason why a source file's content is not parsed, such as its size; None when it can be parsed."""
    if len(content) > FILE_BYTES:
        return describe_size(len(content))
    if b"\0" in content:
        return "holds NUL bytes: binary or UTF-16, not source in UTF-8"
    return None


def describe_size(size: int) -> str:
    """Return the reason why a source file of `size` bytes is too large, such as "N bytes, more than LIMIT"."""
    return f"{size:,} bytes, more than {FILE_BYTES:,}"


def read_definitions(language: str, content: bytes) -> FileDefinitions:
    """Parse a source file's content and return its definitions, or the reason why it is left out.

    The grammar of its language must be installed.
    """
    if reason := explain_unreadable(content):
        return FileDefinitions([], reason=reason, size=len(content))
    root = create_parser(language).parse(content).root_node
    rows = list(_build_rows(_drop_duplicates(find_spans(language, root, content)), content))
    return FileDefinitions(rows, is_broken(language, root, content), size=len(content))


def is_broken(language: str, root: Node, content: bytes) -> bool:
    """Return whether a parsed file has broken syntax. `root` is the root node of its syntax tree.

    For Python, Python's own parser must confirm an error of tree-sitter.
    """
    return root.has_error and not (language == "python" and is_valid_python(content))


def is_valid_python(content: bytes) -> bool:
    """Return whether Python's own parser accepts a file's content. A file that is nested too deeply counts as invalid.

    The caller must limit the size by `FILE_BYTES`: a syntax tree takes many times the file's size.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _drop_duplicates(spans: Iterable[DefinitionSpan]) -> Iterator[DefinitionSpan]:
    before = None
    for span in spans:
        place = span.start, span.negated_end, span.name
        if place != before:
            yield span
        before = place


def _build_rows(spans: Iterable[DefinitionSpan], content: bytes) -> Iterator[DefinitionRow]:
    """Convert spans in file order to rows, each within the definitions that enclose it."""
    enclosing: list[_Enclosing] = []
    outer = _NO_OUTER
    for span in spans:
        start, end = span.start, -span.negated_end
        if span.kind == "outer":
            if outer.end < end:
                outer = _Outer(start, end, span.node.start_point[0])
            continue
        while enclosing and enclosing[-1].end <= start:
            enclosing.pop()
        inside = enclosing[-1] if enclosing else _NOWHERE
        scope = _join(inside.scope, span.scope)
        if span.kind == "declaration" and inside.kind in {"function", "method"}:
            continue
        if span.kind not in {"declaration", "alias"}:
            enclosing.append(_Enclosing(end, _join(scope, span.name), span.kind))
        if span.kind in {"impl", "namespace"}:
            continue
        first = outer if outer.end >= end else _Outer(start, end, span.node.start_point[0])
        outer = _NO_OUTER
        yield DefinitionRow(
            _choose_construct(span.kind, inside.kind),
            scope,
            span.name,
            first.row + 1,
            _find_last_line(span.node),
            first.start,
            end,
            _read_signature(span.node, content),
        )


def _choose_construct(kind: str, inside: str) -> str:
    if kind in {"class", "alias"}:
        return _CLASS
    return _METHOD if kind == "method" or inside in {"class", "impl"} else _FUNCTION


def _find_last_line(node: Node) -> int:
    """Return the last line. Some nodes end at the start of the next line."""
    row, column = node.end_point
    return row + 1 if column else row


def _join(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope and name else scope or name


def _read_signature(node: Node, content: bytes) -> str:
    """Return the text before the body on one line, or the first line of a definition without a body."""
    body = node.child_by_field_name("body")
    if body is None:
        head = content[node.start_byte : node.end_byte].partition(b"\n")[0]
    else:
        head = content[node.start_byte : body.start_byte]
        if b"#" in head:
            head = content[node.start_byte : _find_head_end(body)]
    words = " ".join(head.decode(errors="replace").split()).rstrip(":{ ")
    return words[:_SIGNATURE]


def _find_head_end(body: Node) -> int:
    """Return where the head ends before a comment that precedes the body."""
    before = body.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    return before.end_byte if before is not None else body.start_byte
