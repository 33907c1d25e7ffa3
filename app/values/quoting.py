"""Makes untrusted text safe to publish: GitHub shows it as it is, and nothing in it becomes active (pure).

Mentions, references, closing keywords, links, commit ids, advisories, emoji codes, images, markup and HTML would be active. The functions remove nothing.
They show invisible characters by their code points.
"""

import html
import re
import unicodedata

_MARKUP = re.compile(r"[\\`*_\[\]<>&!|~$]")
_LINE_START = re.compile(r"^([-+=:]|\d{1,9}[.)])")
_CODE = re.compile(r"(?<!`)`(?!\s)([^`\n]{1,200}?)(?<!\s)`(?!`)")

_BACKTICKS = re.compile(r"`+")

_BREAK = "\u200b"
"""Zero-width space that ends a word for GitHub. Unlike markup it survives a reply by e-mail."""

_LIVE = (
    (re.compile(r"@"), "@" + _BREAK),
    (re.compile(r"#"), "#" + _BREAK),
    (re.compile(r"(gh-)(?=\d)", re.IGNORECASE), r"\1" + _BREAK),
    (re.compile(r"://"), ":" + _BREAK + "//"),
    (re.compile(r"(www)\.", re.IGNORECASE), r"\1" + _BREAK + "."),
)

# GitHub leaves these alone inside code, so code keeps them and can be copied.
_LIVE_OUTSIDE_CODE = (
    # A commit's id, or its first 7 digits. After each six, so that no part is long enough.
    (re.compile(r"([0-9a-f]{6})(?=[0-9a-f])", re.IGNORECASE), rf"\1{_BREAK}"),
    (re.compile(r"(ghsa-|cve-)(?=[0-9a-z])", re.IGNORECASE), rf"\1{_BREAK}"),
    # The closing colon may open the next code. Escaped underscores have a backslash.
    (re.compile(r":(?=[\w+\\-]+:)"), ":" + _BREAK),
)

# Invisible characters that Unicode counts as letters or marks: fillers, selectors, joiners.
_UNSEEN = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x180E)))
) | frozenset(map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0))))
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})
_ODD = re.compile(r"[^\n\x20-\x7e]")
_NEW_LINES = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")


def show_invisible(text: str) -> str:
    """Return text with each invisible or direction-changing character replaced by ‹U+XXXX›, its code point.

    Every kind of line end becomes a newline, and every tab four blanks.
    """
    return _ODD.sub(lambda match: _show(match[0]), _normalise_lines(text))


def quote_paragraph(text: str, limit: int) -> str:
    """Escape untrusted prose as Markdown that shows the same lines as plain text. Short `code` stays code.

    Text of more than `limit` characters is cut and ends in an ellipsis.
    """
    return "\n".join(_write_line(line) for line in _make_readable(text, limit).split("\n"))


def quote_phrase(text: str, limit: int) -> str:
    """Escape untrusted text as one line of Markdown that shows as plain text and fits into a table cell.

    Text of more than `limit` characters is cut and ends in an ellipsis.
    """
    return _begin(_escape(" ".join(_make_readable(text, limit).split())))


def is_copyable(text: str) -> bool:
    """Return whether a Markdown code block shows `text` unchanged, with all of its characters visible."""
    return "\ufffd" not in text and show_invisible(shown := text.replace("\t", "")) == shown


def fence_code(text: str, language: str) -> str:
    """Return text as a Markdown code block whose fence is longer than any run of backticks in the text.

    `language` names the highlighting, such as `diff`. The function escapes nothing, so the text must be `is_copyable`.
    """
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _normalise_lines(text: str) -> str:
    return _NEW_LINES.sub("\n", text).replace("\t", "    ")


def _make_readable(text: str, limit: int) -> str:
    # GitHub decodes `&#64;` before it looks for mentions, so escape the decoded text.
    return _cut(show_invisible(html.unescape(text)).strip(), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _write_line(line: str) -> str:
    # Leading blanks would make a code block, and trailing blanks a line break.
    pieces = _CODE.split(line.strip())
    written = "".join(
        f"`{_disarm(piece)}`" if place % 2 else _escape(piece) for place, piece in enumerate(pieces)
    )
    return _begin(written)


def _escape(text: str) -> str:
    text = _disarm(_MARKUP.sub(r"\\\g<0>", text))
    for pattern, replacement in _LIVE_OUTSIDE_CODE:
        text = pattern.sub(replacement, text)
    return text


def _disarm(text: str) -> str:
    for pattern, replacement in _LIVE:
        text = pattern.sub(replacement, text)
    return text


def _begin(line: str) -> str:
    """Escape the start of a line, which could make a list, a title or a table's second row."""
    return _LINE_START.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", line)


def _show(character: str) -> str:
    if character in _UNSEEN or unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return f"‹U+{ord(character):04X}›"
    return character
