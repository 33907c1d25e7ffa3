"""This module escapes untrusted text for a prompt, so that it can neither forge nor hide anything (pure).

A harmful character becomes ⟦U+XXXX⟧, its code point in hex, and `restore_escapes` turns it back. Only HTML comments are
removed for good, because GitHub hides them from readers too. The special tokens of known families are always escaped,
those of the serving tokenizer where an engine tells them.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from model.prompts.special_tokens import SpecialTokens, find_token_starts


class InjectionKind(StrEnum):
    """The kinds of prompt injection that escaping makes harmless."""

    DELIMITER = "delimiter"
    """A tag of our prompt, as in `</patch-1>`. Its `<` is escaped."""
    SPECIAL_TOKEN = "special_token"  # noqa: S105 - a kind of text, not a secret
    """A chat marker, as in `<|im_start|>` or `[INST]`. Its first character is escaped."""
    BOX = "box"
    r"""The box of an answer. The backslash of `\\boxed` is escaped."""
    LOOKALIKE = "lookalike"
    """A Greek or Cyrillic letter that looks Latin, in a word with Latin letters. The letter is escaped."""
    INVISIBLE = "invisible"
    """Bidi controls, zero-width, tag and other invisible characters (CVE-2021-42574). Each is escaped."""
    ESCAPE = "escape"
    """Our own escape, written by a stranger. Its ⟦ is escaped, so every escape in a prompt is ours."""
    HTML_COMMENT = "html_comment"
    """An HTML comment in an issue. It is removed, and a mark stands in its place."""


@dataclass(frozen=True, slots=True)
class SafeText:
    """An escaped text, and how often each kind of injection was found in it."""

    text: str
    injections: tuple[tuple[InjectionKind, int], ...] = ()


HINT_TAG = "<patch-hint>"
"""The tag that opens guidance in an agent's prompt. Untrusted text cannot write it, and a judge never sees it."""
COMMENT_MARK = "⟦HTML comment removed⟧"

# GitHub's renderer hides the rest of the page after an open comment, so this pattern removes it too.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_INVISIBLE_RANGES = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
# A variation selector after a symbol belongs to an emoji. Anywhere else it can hide data.
_STRAY_SELECTOR = r"(?<![\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f"
# A lone carriage return makes a terminal overwrite the line.
_INVISIBLE = re.compile(rf"{_STRAY_SELECTOR}|[{_INVISIBLE_RANGES}]|\r(?!\n)")
# Characters that NFKC folds into our signs, and characters that look like them.
_LIKE_LESS = "\uff1c\ufe64\u2039\u3008\u27e8\u2329"
_LIKE_GREATER = "\uff1e\ufe65\u203a\u3009\u27e9\u232a"
_LIKE_SLASH = "\uff0f\u2044\u2215"
_LIKE_BACKSLASH = "\uff3c\ufe68\u2216\u29f5\u29f9"
# Greek and Cyrillic letters that look like Latin ones (UTS 39).
_LATIN_LOOKING = re.compile("[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοаеорсухѕіјһԁӏАВЕЅІЈКМНОРСТУХ]")
_LATIN = re.compile("[A-Za-z]")
_ESCAPE = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")
_LETTERS = re.compile(r"[^\W_]+")
# Special tokens without a bar, of the model families in the tests. A tokenizer knows them in this spelling only.
_CONTROL_TAGS = (
    r"eop|sop|think|tool_calls?|tool_responses?|arg_key|arg_value|(?:start|end)_of_\w{1,20}"
    r"|(?:start|end)_function_\w{1,20}|image_soft_token|(?:unused|extra_id_|SPECIAL_)\d{1,5}"
    r"|fim_(?:prefix|middle|suffix|pad)|file_sep|repo_?name|gh_stars|empty_output|jupyter_\w{1,20}"
    r"|issue_(?:start|comment|closed)|commit_(?:before|msg|after)|pr_\w{1,20}"
    r"|(?:seed|minimax):\w{1,20}|\w{0,20}\u2581[\w\u2581]{0,40}"
)
_CONTROL_BRACKETS = (
    "SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|IMG_BREAK|IMG_END"
    "|BEGIN_AUDIO|[gs]MASK"
)
# These are ordinary code too, as in `config[PREFIX]`. They are escaped, and not reported.
_CODE_TAGS = "unk|pad|bos|eos|mask|cls|sep|filename|pr"
_CODE_BRACKETS = "ARGS|THINK|IMG|AUDIO|PREFIX|MIDDLE|SUFFIX|MASK|CLS|SEP|PAD|UNK|BOS|EOS"
_TRICKS = re.compile(
    rf"""
      (?P<escape>⟦(?=U\+))
    | (?P<delimiter>[<{_LIKE_LESS}](?=\s{{0,9}}[/{_LIKE_SLASH}]?\s{{0,9}}patch\s{{0,9}}-
        |\s{{0,9}}[/{_LIKE_SLASH}]\s{{0,9}}issue\s{{0,9}}[>{_LIKE_GREATER}]
        |\s{{0,9}}(?-i:issue)\s{{0,9}}[>{_LIKE_GREATER}]))  # List<Issue> is Java and not our tag
    | (?P<special_token>
          [<{_LIKE_LESS}](?=[|｜])
        | <(?=/?(?:s|think|tool_call|tool_response|start_of_turn|end_of_turn)>)
        | <(?=<\s?/?SYS>>)
        | (?-i:<(?=/?(?:{_CONTROL_TAGS})>))
        | [\[\uff3b](?=/?INST[\]\uff3d])
        | (?-i:\[(?=/?(?:{_CONTROL_BRACKETS})\]))
        | \](?=~!?b[\[\]])
        | \[(?=e~\[))
    | (?P<code>(?-i:<(?=/?(?:{_CODE_TAGS})>)|\[(?=/?(?:{_CODE_BRACKETS})\])))
    | (?P<box>[\\{_LIKE_BACKSLASH}](?=\s{{0,9}}f?boxed))
    | (?P<invisible>{_INVISIBLE.pattern})
    """,
    re.VERBOSE | re.IGNORECASE,
)


def escape_issue(text: str, tokens: SpecialTokens = None) -> SafeText:
    """Return an issue's text for a prompt: a mark replaces each HTML comment, and the rest is escaped.

    `tokens` are the special tokens of the tokenizer that reads the prompt.
    """
    text, comments = _COMMENT.subn(COMMENT_MARK, text)
    safe = escape_patch(text, tokens)
    removed = ((InjectionKind.HTML_COMMENT, comments),) if comments else ()
    return SafeText(safe.text, removed + safe.injections)


def strip_html_comments(text: str) -> str:
    """Return an issue's text without its HTML comments, for uses other than a prompt."""
    return _COMMENT.sub("", text)


def escape_patch(text: str, tokens: SpecialTokens = None) -> SafeText:
    """Return a diff for a prompt, with harmful characters escaped and nothing removed.

    `restore_escapes` reverses the escapes exactly. `tokens` are the special tokens of the tokenizer that reads the
    prompt. The first character of each is escaped and not reported, so that reports do not depend on the engine.
    """
    counts: Counter[InjectionKind] = Counter()
    starts = find_token_starts(text, tokens)

    def escape(match: re.Match[str]) -> str:
        if match.lastgroup == "served" and match.start() not in starts:
            return match[0]
        if match.lastgroup not in ("code", "served"):
            counts[InjectionKind(match.lastgroup or "")] += 1
        return f"⟦U+{ord(match[0]):04X}⟧"

    # One pass, because a second one would escape the signs of the first one's escapes.
    escaped = _add_characters(_TRICKS, {text[start] for start in starts}).sub(escape, text)
    if _LATIN_LOOKING.search(escaped):
        escaped, lookalikes = _escape_lookalikes(escaped)
        counts += Counter({InjectionKind.LOOKALIKE: lookalikes})
    return SafeText(escaped, tuple(sorted(counts.items())))


def escape_special_tokens(text: str, tokens: SpecialTokens) -> str:
    """Return a text that is escaped already, with the special tokens of the tokenizer that reads it escaped too."""
    starts = find_token_starts(text, tokens)
    signs = (f"⟦U+{ord(sign):04X}⟧" if place in starts else sign for place, sign in enumerate(text))
    return "".join(signs) if starts else text


def restore_escapes(text: str) -> str:
    """Return a text from `escape_patch`, or a part of one, with its ⟦U+XXXX⟧ escapes turned back into characters.

    Characters that a file cannot hold stay escaped. Bytes that are not UTF-8 are lone surrogates here.
    """
    return _ESCAPE.sub(lambda match: _decode(int(match[1], 16)) or match[0], text)


def _add_characters(pattern: re.Pattern[str], signs: Collection[str]) -> re.Pattern[str]:
    """Return a pattern that also matches each of `signs`, as the group `served`, where nothing else matches."""
    if not signs:
        return pattern
    choice = "".join(re.escape(sign) for sign in sorted(signs))
    return re.compile(f"{pattern.pattern}|(?P<served>(?-i:[{choice}]))", pattern.flags)


def _decode(code: int) -> str:
    """Return the character of a code point, or nothing if a file cannot hold it."""
    lone = 0xD800 <= code < 0xDC80 or 0xDCFF < code <= 0xDFFF
    return "" if lone or code > 0x10FFFF else chr(code)


def _escape_lookalikes(text: str) -> tuple[str, int]:
    """Escape letters that look Latin, in each word with Latin letters, and count them."""
    escaped = 0

    def escape_word(match: re.Match[str]) -> str:
        nonlocal escaped
        if not _LATIN.search(match[0]):
            return match[0]
        shown, count = _LATIN_LOOKING.subn(lambda letter: f"⟦U+{ord(letter[0]):04X}⟧", match[0])
        escaped += count
        return shown

    return _LETTERS.sub(escape_word, text), escaped


def escape_invisible(text: str) -> str:
    """Return a text for a person's screen, with invisible characters and terminal controls escaped as ⟦U+XXXX⟧."""
    return _INVISIBLE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def cut_middle(text: str, head: int, tail: int, *, ends: str = "\n") -> str:
    """Return the first `head` and the last `tail` characters of a text, with a remark on how many were cut between.

    A text of at most `head` + `tail` characters is returned unchanged. `ends` stands on both sides of the
    remark; a space keeps a one-line text on one line.
    """
    more = len(text) - head - tail
    if more <= 0:
        return text
    return f"{text[:head]}{ends}… {more:,} characters left out …{ends}{text[-tail:]}"
