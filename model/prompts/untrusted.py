"""Text that strangers wrote, made safe to show to a model: nothing forged, nothing invisible (pure).

A character that could do harm is replaced by ⟦U+XXXX⟧, its code point in hex, which can be turned back. Only HTML
comments, which no reader of the issue sees, are taken out for good.
"""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class Trick(StrEnum):
    """What was found in a text and made harmless."""

    DELIMITER = "delimiter"
    """A tag of our prompt, as in `</patch-1>`: its `<` is escaped."""
    SPECIAL_TOKEN = "special_token"  # noqa: S105 - no secret, a kind of text
    """A chat marker, as in `<|im_start|>` or `[INST]`: its first character is escaped."""
    BOX = "box"
    """An answer's box: the backslash of `\\boxed` is escaped."""
    LOOKALIKE = "lookalike"
    """A Greek or Cyrillic letter that looks Latin, in a word that has Latin letters: it is escaped."""
    INVISIBLE = "invisible"
    """Bidi controls, zero-width, tag and other unseen characters (CVE-2021-42574): each is escaped."""
    ESCAPE = "escape"
    """Our own escape, written by hand: its ⟦ is escaped, so that an escape is always ours."""
    HTML_COMMENT = "html_comment"
    """A comment in an issue: removed, and its place marked."""


@dataclass(frozen=True, slots=True)
class SafeText:
    """A text as the model sees it, and how often each trick was found in it."""

    text: str
    tricks: tuple[tuple[Trick, int], ...] = ()


HINT_TAG = "<patch-hint>"
"""Opens a hint where an agent is shown one; nobody else can write it. Whoever judges is never shown it."""
COMMENT_MARK = "⟦HTML comment removed⟧"

# An open comment hides the rest of the page in GitHub's renderer, so it does here.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
# One variation selector after a symbol is how emoji are written; anywhere else it is hidden data.
_STRAY_SELECTOR = r"(?<![\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f"
# A carriage return alone has a terminal write over the line that was just read.
_INVISIBLE = re.compile(rf"{_STRAY_SELECTOR}|[{_UNSEEN}]|\r(?!\n)")
# What Unicode folds into our signs (NFKC), and what looks like them.
_LIKE_LESS = "\uff1c\ufe64\u2039\u3008\u27e8\u2329"
_LIKE_GREATER = "\uff1e\ufe65\u203a\u3009\u27e9\u232a"
_LIKE_SLASH = "\uff0f\u2044\u2215"
_LIKE_BACKSLASH = "\uff3c\ufe68\u2216\u29f5\u29f9"
# Letters of Greek and Cyrillic that are drawn as Latin ones (UTS 39).
_LATIN_LOOKING = re.compile("[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοаеорсухѕіјһԁӏАВЕЅІЈКМНОРСТУХ]")
_LATIN = re.compile("[A-Za-z]")
_OURS = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")
_LETTERS = re.compile(r"[^\W_]+")
_TRICKS = re.compile(
    rf"""
      (?P<escape>⟦(?=U\+))
    | (?P<delimiter>[<{_LIKE_LESS}](?=\s{{0,9}}[/{_LIKE_SLASH}]?\s{{0,9}}patch\s{{0,9}}-
        |\s{{0,9}}[/{_LIKE_SLASH}]\s{{0,9}}issue\s{{0,9}}[>{_LIKE_GREATER}]
        |\s{{0,9}}(?-i:issue)\s{{0,9}}[>{_LIKE_GREATER}]))  # List<Issue> is Java, not a tag of ours
    | (?P<special_token>
          [<{_LIKE_LESS}](?=[|｜])
        | <(?=/?(?:s|think|tool_call|tool_response|start_of_turn|end_of_turn)>)
        | <(?=<\s?/?SYS>>)
        | [\[\uff3b](?=/?INST[\]\uff3d]))
    | (?P<box>[\\{_LIKE_BACKSLASH}](?=\s{{0,9}}f?boxed))
    | (?P<invisible>{_INVISIBLE.pattern})
    """,
    re.VERBOSE | re.IGNORECASE,
)


def safe_issue(text: str) -> SafeText:
    """An issue for the model: HTML comments out, the rest escaped."""
    text, comments = _COMMENT.subn(COMMENT_MARK, text)
    safe = safe_patch(text)
    found = ((Trick.HTML_COMMENT, comments),) if comments else ()
    return SafeText(safe.text, found + safe.tricks)


def without_comments(text: str) -> str:
    """An issue as its readers see it, HTML comments out; for who reads no prompt."""
    return _COMMENT.sub("", text)


def safe_patch(text: str) -> SafeText:
    """A diff for the model: escaped, and nothing taken away: the escapes can be turned back exactly."""
    found: Counter[Trick] = Counter()

    def escape(match: re.Match[str]) -> str:
        found[Trick(match.lastgroup or "")] += 1
        return f"⟦U+{ord(match[0]):04X}⟧"

    escaped = _TRICKS.sub(escape, text)
    if _LATIN_LOOKING.search(escaped):
        escaped, lookalikes = _latin_only(escaped)
        found += Counter({Trick.LOOKALIKE: lookalikes})
    return SafeText(escaped, tuple(sorted(found.items())))


def as_written(text: str) -> str:
    """A text with our escapes turned back, which `safe_patch` made or who copied from it.

    Only to a character that a file can hold, read as UTF-8 with what is none of it as lone surrogates.
    """
    return _OURS.sub(lambda match: _meant(int(match[1], 16)) or match[0], text)


def _meant(code: int) -> str:
    """The character of a code point; nothing where there is none to write."""
    lone = 0xD800 <= code < 0xDC80 or 0xDCFF < code <= 0xDFFF
    return "" if lone or code > 0x10FFFF else chr(code)


def _latin_only(text: str) -> tuple[str, int]:
    """The text, in each word with Latin letters those that only look so escaped, and how many those were."""
    escaped = 0

    def word(match: re.Match[str]) -> str:
        nonlocal escaped
        if not _LATIN.search(match[0]):
            return match[0]
        shown, found = _LATIN_LOOKING.subn(lambda one: f"⟦U+{ord(one[0]):04X}⟧", match[0])
        escaped += found
        return shown

    return _LETTERS.sub(word, text), escaped


def visible(text: str) -> str:
    """A text for a person's screen: characters that can't be seen, or that steer a terminal, as escapes."""
    return _INVISIBLE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)
