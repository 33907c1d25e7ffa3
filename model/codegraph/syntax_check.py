"""Check whether an edit breaks a file's syntax, by the parser of its language."""

from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from model.codegraph.definition_reader import explain_unreadable, is_broken
from model.codegraph.languages import create_parser, detect_language, get_edition

_SHOWN = 60


def check_syntax(path: str, before: bytes, after: bytes) -> str | None:
    """Return the parser's message when an edit adds a syntax error; None when it adds none or no parser can tell.

    `before` and `after` are the content of the file `path`. No parser can tell without a grammar, and for files that
    are too large or binary. Old errors may stay or move.
    """
    language = detect_language(path)
    if language is None or get_edition(language) is None or explain_unreadable(after):
        return None
    tree = create_parser(language).parse(after)
    if not is_broken(language, tree.root_node, after):
        return None
    errors = list(_list_error_nodes(tree.root_node))
    old_errors = [] if explain_unreadable(before) else _find_errors(language, before)
    unseen = Counter(map(_identify, errors)) - Counter(map(_identify, old_errors))
    if not unseen or len(errors) < len(old_errors):
        return None
    return _format_message(path, next(node for node in errors if _identify(node) in unseen), after)


def explain_unchecked(path: str, content: bytes) -> str | None:
    """Return why the syntax of a file in a supported language cannot be checked; None when it can.

    For a file in another language the result is None too.
    """
    language = detect_language(path)
    if language is None:
        return None
    return (
        explain_unreadable(content)
        if get_edition(language)
        else f"no grammar for {language} is installed"
    )


def _find_errors(language: str, content: bytes) -> list[Node]:
    root = create_parser(language).parse(content).root_node
    return list(_list_error_nodes(root)) if root.has_error else []


def _list_error_nodes(root: Node) -> Iterator[Node]:
    """Yield the outermost error nodes in file order."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            yield node
        else:
            waiting += [child for child in reversed(node.children) if child.has_error]


def _identify(node: Node) -> tuple[str, bytes | None]:
    """Identify an error by its text, independent of its place."""
    return node.type, node.text


def _format_message(path: str, node: Node, content: bytes) -> str:
    row, column = node.start_point
    line = content.split(b"\n")[row].decode(errors="replace").strip()
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
    what = f"{node.type!r} is missing" if node.is_missing else "this can't be parsed"
    return f"{path}, line {row + 1}, column {column + 1}: {what}: {shown}"
