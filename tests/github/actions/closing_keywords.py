"""GitHub's keyword rules: the issues that a text mentions, and those that it closes (pure)."""

import re
from dataclasses import dataclass

_KEYWORD = r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
_TARGET = (
    r"(?:(?P<{p}repo>[\w.-]+/[\w.-]+)?#|GH-|https?://[^/\s]+/(?P<{p}urlrepo>[\w.-]+/[\w.-]+)/"
    r"(?:issues|pull)/)(?P<{p}number>\d+)\b"
)
_CLOSING = re.compile(rf"\b{_KEYWORD}:?\s+{_TARGET.format(p='')}", re.IGNORECASE)
_MENTION = re.compile(rf"(?<![\w/&]){_TARGET.format(p='')}", re.IGNORECASE)
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reference:
    """An issue or pull request by repository (lower case) and number."""

    repository: str
    number: int


def find_closing_references(text: str, repository: str) -> tuple[Reference, ...]:
    """Return the issues that `text` closes by keyword, in order, without repetition. Code and comments do not count."""
    return _references(_CLOSING, text, repository)


def find_mentions(text: str, repository: str) -> tuple[Reference, ...]:
    """Return every issue or pull request that `text` mentions, in order, without repetition."""
    return _references(_MENTION, text, repository)


def _references(pattern: re.Pattern[str], text: str, repository: str) -> tuple[Reference, ...]:
    references = (
        Reference((m["repo"] or m["urlrepo"] or repository).lower(), int(m["number"][:18]))
        for m in pattern.finditer(_QUOTED.sub(" ", text))
    )
    return tuple(dict.fromkeys(references))
