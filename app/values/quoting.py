"""Makes untrusted text safe to publish: it is shown as it is, and nothing in it comes alive (pure).

Live would be a mention, a reference, a closing keyword, a link, an image, markup or HTML. Nothing
is filtered: what can't be seen is shown by its code point.
"""

import html
import re
import unicodedata

_MARKUP = re.compile(r"[\\`*_\[\]<>&!|~$]")
_LINE_START = re.compile(r"^([-+=:]|\d{1,9}[.)])")
_CODE = re.compile(r"(?<!`)`(?!\s)([^`\n]{1,200}?)(?<!\s)`(?!`)")

_BACKTICKS = re.compile(r"`+")

_BREAK = "\u200b"
"""Ends a word for GitHub without showing. Unlike markup it survives a reply by e-mail."""

_LIVE = (
    (re.compile(r"@"), "@" + _BREAK),
    (re.compile(r"#"), "#" + _BREAK),
    (re.compile(r"(gh-)(?=\d)", re.IGNORECASE), r"\1" + _BREAK),
    (re.compile(r"://"), ":" + _BREAK + "//"),
    (re.compile(r"(www)\.", re.IGNORECASE), r"\1" + _BREAK + "."),
)

# Invisible although Unicode files them under letters or marks: fillers, selectors, joiners.
_UNSEEN = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x180E)))
) | frozenset(map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0))))
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})
_ODD = re.compile(r"[^\n\x20-\x7e]")
_NEW_LINES = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")


def visible(text: str) -> str:
    """The text with every character that can't be seen, or that turns others round, as ‹U+XXXX›."""
    return _ODD.sub(lambda match: _shown(match[0]), _lines(text))


def paragraph(text: str, limit: int) -> str:
    """Untrusted prose as Markdown, line by line; short `code` stays code. Cut with an ellipsis."""
    return "\n".join(_line(line) for line in _readable(text, limit).split("\n"))


def phrase(text: str, limit: int) -> str:
    """Untrusted text as one line of Markdown that fits into a table cell; no markup at all."""
    return _begin(_escape(" ".join(_readable(text, limit).split())))


def is_copyable(text: str) -> bool:
    """Whether the text can stand in a code block as it is: all of it can be seen, and comes out as it went in."""
    return "\ufffd" not in text and visible(shown := text.replace("\t", "")) == shown


def fenced(text: str, language: str) -> str:
    """A code block that nothing in `text` can end. What isn't `is_copyable` is no text for it: nothing is escaped."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _lines(text: str) -> str:
    return _NEW_LINES.sub("\n", text).replace("\t", "    ")


def _readable(text: str, limit: int) -> str:
    # GitHub decodes `&#64;` before it looks for mentions, so what is escaped is the decoded text.
    return _cut(visible(html.unescape(text)).strip(), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _line(line: str) -> str:
    # Leading blanks would make a code block, trailing ones a line break.
    pieces = _CODE.split(line.strip())
    written = "".join(
        f"`{_inert(piece)}`" if place % 2 else _escape(piece) for place, piece in enumerate(pieces)
    )
    return _begin(written)


def _escape(text: str) -> str:
    return _inert(_MARKUP.sub(r"\\\g<0>", text))


def _inert(text: str) -> str:
    for pattern, replacement in _LIVE:
        text = pattern.sub(replacement, text)
    return text


def _begin(line: str) -> str:
    """Without this a line could become a list, a title's underline or a table's second row."""
    return _LINE_START.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", line)


def _shown(character: str) -> str:
    if character in _UNSEEN or unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return f"‹U+{ord(character):04X}›"
    return character
