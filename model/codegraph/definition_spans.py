"""Find the spans of a file's definitions, before their nesting is known."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node, QueryCursor

from model.codegraph.languages import load_query

_PYTHON: Final = re.compile(rb"\b(?:class|def)\b")
_PYTHON_KINDS: Final = {"class_definition": "class", "function_definition": "function"}
_OPERATOR: Final = re.compile(r"(?:(.*?)::)??\s*(operator\b.*)", re.DOTALL)
_CONVERSION: Final = re.compile(r"operator\s+\w")
_KINDS: Final = {
    *("class", "function", "method", "declaration", "alias"),
    *("impl", "namespace", "outer"),
}


class DefinitionSpan(NamedTuple):
    """The span of one definition, as the search in a parsed file finds it.

    Spans sort by start; at the same start, the longer span comes first, then the more specific match.
    """

    start: int
    negated_end: int
    """The end offset, negated, so that a longer span sorts first."""
    is_definition: bool
    is_bare: bool
    """Whether the name has no scope of its own."""
    number: int
    """Number of the match in the search, which keeps the order of equal spans."""
    kind: str
    """The kind of the match: a capture's name as `tag_queries` lists them."""
    node: Node
    name: str
    scope: str


def find_spans(language: str, root: Node, content: bytes) -> list[DefinitionSpan]:
    """Find the spans of all definitions in a parsed source file, sorted by place.

    `root` is the root node of its syntax tree, and `content` is the parsed text.
    """
    if language == "python":
        return sorted(_find_python_spans(root, content))
    matches = QueryCursor(load_query(language)).matches(root)
    return sorted(
        _build_span(number, captures, content) for number, (_, captures) in enumerate(matches)
    )


def _find_python_spans(root: Node, content: bytes) -> Iterator[DefinitionSpan]:
    """Find Python definitions by the words `class` and `def`, which takes a quarter of a query's time."""
    for number, word in enumerate(_PYTHON.finditer(content)):
        token = root.descendant_for_byte_range(*word.span())
        node = token.parent if token and token.type in {"class", "def"} else None
        name = node.child_by_field_name("name") if node else None
        if node is None or name is None or node.type not in _PYTHON_KINDS:
            continue  # the keyword stands in a comment, a string or unparsable code
        if (around := node.parent) and around.type == "decorated_definition":
            yield _place_span(around, number, "outer", "", "")
        yield _place_span(node, number, _PYTHON_KINDS[node.type], _decode(name, content), "")


def _build_span(number: int, captures: dict[str, list[Node]], content: bytes) -> DefinitionSpan:
    kind = next(filter(_KINDS.__contains__, captures))
    node = captures[kind][0]
    own = _decode(captures["name"][0], content) if "name" in captures else ""
    before = _decode(captures["scope"][0], content) if "scope" in captures else ""
    if "::" in own or own.startswith("operator"):
        before, own = _split_name(own)
    return _place_span(node, number, kind, own, before)


def _split_name(qualified: str) -> tuple[str, str]:
    """Split a C++ name into dotted scope and name, without template or conversion arguments."""
    if operator := _OPERATOR.match(qualified):
        scope, name = operator[1] or "", operator[2]
        if _CONVERSION.match(name):
            name = name.partition("(")[0]
    else:
        scope, _, name = _strip_templates(qualified).rpartition("::")
    parts = (part.strip() for part in _strip_templates(scope).split("::"))
    return ".".join(filter(None, parts)), " ".join(name.split())


def _strip_templates(qualified: str) -> str:
    """Remove everything in angle brackets, nested ones too."""
    kept, depth = [], 0
    for letter in qualified:
        if letter == "<":
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif not depth:
            kept.append(letter)
    return "".join(kept)


def _place_span(node: Node, number: int, kind: str, name: str, scope: str) -> DefinitionSpan:
    start, end = node.start_byte, node.end_byte
    return DefinitionSpan(start, -end, kind != "outer", not scope, number, kind, node, name, scope)


def _decode(node: Node, content: bytes) -> str:
    return content[node.start_byte : node.end_byte].decode(errors="replace")
