"""What a person said in Markdown, without what was quoted, shown as code or hidden (pure)."""

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Without `text_join` an escaped `\#` or `&#35;` stays apart from plain text: neither is a reference.
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")

_OPAQUE = "\ufffc"
"""Stands where something was that isn't plain text, so that its neighbours don't grow together."""


def spoken(text: str) -> str:
    """All plain text outside code, quotes, HTML and escapes, block by block, one line each."""
    quotes = 0
    lines: list[str] = []
    for token in _MARKDOWN.parse(text):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes += token.nesting
        elif token.type == "inline" and not quotes:
            lines += _lines(token.children or (), links=True)
    return "\n".join(lines)


def paragraph_lines(text: str) -> Iterator[str]:
    """Lines of top-level paragraphs that begin with plain text; code later in a line is kept.

    Headings, lists, tables, quotes, links, emphasis, HTML and code at the beginning of a line
    make it somebody's example, title or quotation, so such lines are left out.
    """
    outer = ""
    for token in _MARKDOWN.parse(text):
        if token.level == 0:
            outer = token.type
        elif token.type == "inline" and outer == "paragraph_open":
            for line in _lines(token.children or (), links=False):
                if not line.startswith(_OPAQUE):
                    yield line.replace(_OPAQUE, "")


def _lines(tokens: Sequence[Token], *, links: bool) -> list[str]:
    lines = [""]
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            lines.append("")
        elif token.type == "text" and (links or lines[-1] or token.level == 0):
            lines[-1] += token.content
        elif links:
            lines[-1] += _OPAQUE
        else:
            lines[-1] += (token.content if lines[-1] else "") or _OPAQUE
    return lines
