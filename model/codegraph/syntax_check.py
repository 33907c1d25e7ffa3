"""Whether an edit breaks a file's syntax, by the parser of its language."""

from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from model.codegraph.definition_reader import is_broken, refusal
from model.codegraph.languages import edition, language_of, parser

_SHOWN = 60


def check(path: str, before: bytes, after: bytes) -> str | None:
    """The parser's message when the edit brings in an error; None: it doesn't, or nobody can tell.

    Nobody can where no grammar is here, and of a file that is too large or no text. What was broken
    before may stay so, or be moved.
    """
    language = language_of(path)
    if language is None or edition(language) is None or refusal(after):
        return None
    tree = parser(language).parse(after)
    if not is_broken(language, tree.root_node, after):
        return None
    errors = list(_broken(tree.root_node))
    known = [] if refusal(before) else _errors(language, before)
    unseen = Counter(map(_what, errors)) - Counter(map(_what, known))
    if not unseen or len(errors) < len(known):
        return None
    return _message(path, next(node for node in errors if _what(node) in unseen), after)


def unchecked(path: str, content: bytes) -> str | None:
    """Why nobody can tell whether a file's syntax is whole, though its language is known; None: somebody can."""
    language = language_of(path)
    if language is None:
        return None
    return refusal(content) if edition(language) else f"no grammar for {language} is installed"


def _errors(language: str, content: bytes) -> list[Node]:
    root = parser(language).parse(content).root_node
    return list(_broken(root)) if root.has_error else []


def _broken(root: Node) -> Iterator[Node]:
    """The nodes that stand for an error, in the order of the file; not what is within them."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            yield node
        else:
            waiting += [child for child in reversed(node.children) if child.has_error]


def _what(node: Node) -> tuple[str, bytes | None]:
    """What an error is known by, wherever in the file it stands."""
    return node.type, node.text


def _message(path: str, node: Node, content: bytes) -> str:
    row, column = node.start_point
    line = content.split(b"\n")[row].decode(errors="replace").strip()
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
    what = f"{node.type!r} is missing" if node.is_missing else "this can't be parsed"
    return f"{path}, line {row + 1}, column {column + 1}: {what}: {shown}"
