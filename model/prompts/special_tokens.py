"""This module selects the special tokens of a tokenizer, and finds them in untrusted text (pure).

A tokenizer reads an added token wherever its text stands: a stranger's text could end a turn or open a thought with it.
Some added tokens are ordinary text, such as runs of blanks (Phi), `<table>` and two line ends (Gemma) or accented
letters (DeepSeek). Escaping those would change most code and protect nothing. The rule of `select_special_tokens`:

- a token of blanks or of one character is never special;
- a token that the tokenizer itself calls special is special;
- another added token is special if it is a word with a bracket or a bar, as in `<think>`, and no tag of HTML.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

SpecialTokens = frozenset[str] | None
"""The special tokens of a tokenizer; None when they are unknown."""

_SIGN = re.compile(r"[<>\[\]{}|¦‖│«»‹›⟦-⟫〈-】]")
_WORD = re.compile(r"\w")
_HTML = re.compile(
    r"</?(?:a|b|blockquote|body|br|caption|code|div|em|h[1-6]|head|hr|html|i|img|li|ol|p|pre|span|strong|su[bp]"
    r"|t(?:able|body|d|foot|h|head|itle|r)|u|ul)>"
)
_BLANK = "\u2581"
"""SentencePiece's sign for a blank. Many tokenizers replace blanks by it before they look for tokens."""

_ENDS = re.compile(rf"^[\s{_BLANK}]+|[\s{_BLANK}]+$")


class _Folding(dict[int, str]):
    """A table for `str.translate`, filled on demand. Characters that a tokenizer may normalise alike fold alike."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = unicodedata.normalize("NFKD", chr(code)).replace(" ", _BLANK)
        return folded


_FOLDING = _Folding()


@dataclass(frozen=True, slots=True)
class _Search:
    """Folded tokens, prepared for a search. A set of thousands of tokens costs no more than a set of ten."""

    tokens: frozenset[str]
    lengths: tuple[int, ...]
    first: re.Pattern[str]
    """The first characters of the tokens."""

    def find(self, folded: str) -> Iterator[int]:
        """Yield each place of a folded text where a token starts."""
        for match in self.first.finditer(folded):
            start = match.start()
            if any(folded[start : start + length] in self.tokens for length in self.lengths):
                yield start


def select_special_tokens(added: Iterable[str], declared: Collection[str]) -> frozenset[str]:
    """Return the tokens that untrusted text must not hold, without blanks around them.

    `added` are the tokenizer's added tokens, and `declared` those that it calls special itself.
    """
    harmful = {token for token in added if _is_marker(token)} | {*declared}
    return frozenset(token for token in map(_strip_blanks, harmful) if len(token) > 1)


def read_special_tokens(tokenizer: Any) -> SpecialTokens:
    """Return the special tokens of a tokenizer of transformers; None for a tokenizer that does not list its tokens."""
    added = getattr(tokenizer, "added_tokens_decoder", None)
    if added is None:
        return None
    declared = {token.content for token in added.values() if token.special}
    return select_special_tokens(
        (token.content for token in added.values()), declared | {*tokenizer.all_special_tokens}
    )


def parse_tokenizer_info(document: Any) -> SpecialTokens:
    """Return the special tokens in `document`, the parsed answer of vLLM's `/tokenizer_info`; None if it lists none.

    The answer tells the role of a token, as in `eos_token`, and not whether an added token is special.
    """
    added = document.get("added_tokens_decoder") if isinstance(document, dict) else None
    if not isinstance(added, dict) or not all(isinstance(token, str) for token in added.values()):
        return None
    declared: set[str] = set()
    for name, value in document.items():
        if name.endswith(("_token", "_special_tokens")):
            tokens = value.values() if isinstance(value, dict) else value
            declared |= {tokens} if isinstance(tokens, str) else {*filter(_is_text, tokens or ())}
    return select_special_tokens(added.values(), declared)


def find_token_starts(text: str, tokens: SpecialTokens) -> frozenset[int]:
    """Return each place of `text` where one of `tokens` starts, also in a spelling that tokenizers normalise to it.

    Such spellings are compatibility and decomposed characters, and a blank for SentencePiece's sign or the reverse.
    """
    if not tokens:
        return frozenset()
    folded = text.translate(_FOLDING)
    starts = frozenset(_prepare(tokens).find(folded))
    if not starts or len(folded) == len(text):
        return starts
    # A folded character can be longer than its original, and is never shorter.
    places = [place for place, sign in enumerate(text) for _ in _FOLDING[ord(sign)]]
    return frozenset(places[start] for start in starts)


@lru_cache(maxsize=8)
def _prepare(tokens: frozenset[str]) -> _Search:
    folded = frozenset(token.translate(_FOLDING) for token in tokens)
    first = "".join(re.escape(sign) for sign in sorted({token[0] for token in folded}))
    lengths = tuple(sorted({len(token) for token in folded}))
    return _Search(folded, lengths, re.compile(f"[{first}]"))


def _is_marker(token: str) -> bool:
    plain = unicodedata.normalize("NFKC", token)
    return bool(_SIGN.search(plain) and _WORD.search(plain) and not _HTML.fullmatch(plain))


def _strip_blanks(token: str) -> str:
    return _ENDS.sub("", token)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
