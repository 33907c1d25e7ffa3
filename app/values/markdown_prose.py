"""Extracts plain text from a person's Markdown, without quotes, code and hidden text (pure).

Strangers write this Markdown, so the cost of reading must grow with its length and no faster.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.token import Token

MAX_CHARACTERS: Final = 65_536
"""Most characters of a text that are read. GitHub allows no more in a description."""
MAX_LINES: Final = 4_000
"""Most lines of a text that are read. The parser visits a line once for each quote around it."""
MAX_BRACKETS: Final = 4_000
"""Most opening brackets of a text that are read. The parser looks for the end of a link at each."""
MAX_QUOTE_VISITS: Final = 100_000
"""Most lines that the parser visits to find the ends of quotes."""


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a quote as the parser does, or leave the rest unread once that has cost too much.

    The parser reads up to the next empty line for each quote, even where it then ends the quote
    after two lines: `> #` and `a` in turn cost the square of their number.
    """
    if silent or not state.src.startswith(">", state.bMarks[start] + state.tShift[start]):
        return blockquote(state, start, end, silent)
    stop = next((line for line in range(start, end) if state.isEmpty(line)), end)
    state.env["visits"] = state.env.get("visits", 0) + stop - start
    if state.env["visits"] > MAX_QUOTE_VISITS:
        state.line = end
        return True
    return blockquote(state, start, end, silent)


# `table` is off, because it needed 38 s and 2.7 GB for 59 kB: it fills every short row up to the
# width of the header. `reference` is off, because nothing here needs a definition's target.
# `inline` is off, because `_parse_inline` does its work for those blocks that count.
# `text_join` is off, so that an escaped `\#` or `&#35;` stays apart from plain text:
# neither is a reference to an issue.
_MARKDOWN: Final = (
    MarkdownIt("commonmark")
    .enable("strikethrough")
    .disable(["table", "reference", "inline", "text_join"])
)
_MARKDOWN.block.ruler.at(
    "blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]}
)

_OPAQUE: Final = "\ufffc"
"""Replaces what is not plain text, so that its neighbours stay apart."""

_DEFINITION: Final = re.compile(r"\[[^\]\n]+\]:")
"""The start of a link's definition, such as `[//]: # (a hidden remark)`. GitHub doesn't show it."""

_DELIMITER: Final = re.compile(r"(?=[^|\n]*\|)[ \t|:-]*-[ \t|:-]*")
"""The second line of a table, such as `---|---`."""


def strip_quotes_and_code(text: str) -> str:
    """Return the plain text of a Markdown text, joined by newlines, without code blocks, quotes and HTML.

    Inline code, markup and escapes inside a line become U+FFFC.
    """
    quotes = 0
    lines: list[str] = []
    for token in _parse_blocks(text):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes += token.nesting
        elif token.type == "inline" and not quotes:
            lines += _split_lines(_parse_inline(token.content), links=True)
    return "\n".join(line for line in lines if not _DEFINITION.match(line))


def list_paragraph_lines(text: str) -> Iterator[str]:
    """Yield each top-level paragraph line that begins with plain text. Inline code later in the line stays.

    It leaves out lines in headings, lists, tables and quotes, and lines that begin with a link, emphasis, HTML or code.
    Such a line is an example, a title or a quotation.
    """
    outer = ""
    for token in _parse_blocks(text):
        if token.level == 0:
            outer = token.type
        elif token.type == "inline" and outer == "paragraph_open":
            for line in _split_lines(_parse_inline(_cut_before_table(token.content)), links=False):
                if not line.startswith(_OPAQUE):
                    yield line.replace(_OPAQUE, "")


def _parse_blocks(text: str) -> list[Token]:
    plain = text[:MAX_CHARACTERS].replace("\r\n", "\n").replace("\r", "\n")
    return _MARKDOWN.parse(_cut(_cut(plain, "\n", MAX_LINES), "[", MAX_BRACKETS))


def _cut(text: str, mark: str, limit: int) -> str:
    """Return the text before the mark that is one too many."""
    return mark.join(text.split(mark, limit + 1)[: limit + 1])


def _parse_inline(content: str) -> list[Token]:
    return _MARKDOWN.inline.parse(content, _MARKDOWN, {}, [])


def _cut_before_table(paragraph: str) -> str:
    """Return the lines of a paragraph before the head of a table in it; all without a table."""
    lines = paragraph.split("\n")
    for place, line in enumerate(lines):
        if place and _DELIMITER.fullmatch(line):
            return "\n".join(lines[: place - 1])
    return paragraph


def _split_lines(tokens: Sequence[Token], *, links: bool) -> list[str]:
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
