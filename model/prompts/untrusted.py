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
_INVISIBLE = re.compile(rf"{_STRAY_SELECTOR}|[{_UNSEEN}]")
_TRICKS = re.compile(
    rf"""
      (?P<escape>⟦(?=U\+))
    | (?P<delimiter><(?=\s{{0,9}}/?\s{{0,9}}patch\s{{0,9}}-|\s{{0,9}}/\s{{0,9}}issue\s{{0,9}}>
        |\s{{0,9}}(?-i:issue)\s{{0,9}}>))  # List<Issue> is Java, not a tag of ours
    | (?P<special_token>
          <(?=[|｜])
        | <(?=/?(?:s|think|tool_call|tool_response|start_of_turn|end_of_turn)>)
        | <(?=<\s?/?SYS>>)
        | \[(?=/?INST\]))
    | (?P<box>\\(?=\s{{0,9}}f?boxed))
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


def safe_patch(text: str) -> SafeText:
    """A diff for the model: escaped, and nothing taken away: the escapes can be turned back exactly."""
    found: Counter[Trick] = Counter()

    def escape(match: re.Match[str]) -> str:
        found[Trick(match.lastgroup or "")] += 1
        return f"⟦U+{ord(match[0]):04X}⟧"

    escaped = _TRICKS.sub(escape, text)
    return SafeText(escaped, tuple(sorted(found.items())))


def visible(text: str) -> str:
    """A text for a person's screen: characters that can't be seen, or that steer a terminal, as escapes."""
    return _INVISIBLE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)
