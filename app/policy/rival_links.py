"""Which pull requests are rivals for an issue, and how strongly each is linked to it (pure).

GitHub's own parser decides what a merge closes; the keywords read here only fill its gap for
pull requests to another base than the default branch.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from app.github.facts import IssueFacts, LinkedPull
from app.values.identifiers import IssueNumber, PullNumber
from app.values.markdown_prose import spoken

_KEYWORD = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?::\s*|\s+)"
_LONGEST_NUMBER = 9
_HAS_KEYWORD = re.compile(r"\b(?:close|fix|resolve)", re.ASCII | re.IGNORECASE)
_HAS_NUMBER = re.compile(r"(?:#|GH-|/issues/|/pull/)[1-9]", re.ASCII | re.IGNORECASE)


class LinkStrength(StrEnum):
    """Why a pull request counts as an attempt at the issue, strongest first."""

    ADDED = "added"
    """A maintainer said so by command."""
    CLOSING = "closing"
    """GitHub will close the issue when it is merged, by keyword or by hand."""
    KEYWORD = "keyword"
    """It says so, but its base is not the default branch, so GitHub doesn't count it."""
    CONNECTED = "connected"
    """Connected by hand in the timeline."""
    CROSS_REFERENCE = "cross_reference"
    """It mentioned the issue in words that GitHub reads as closing it."""

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return list(LinkStrength).index(self)


@dataclass(frozen=True, slots=True)
class Member:
    """One rival of a group."""

    number: PullNumber
    strength: LinkStrength


def closing_numbers(
    text: str, repository: str, host: str = "github.com"
) -> tuple[IssueNumber, ...]:
    """Issues of `repository` (`owner/name`) that a Markdown text promises to close, each once.

    A text without a keyword and a number costs next to nothing, whatever its Markdown.
    """
    if not (_HAS_KEYWORD.search(text) and _HAS_NUMBER.search(text)):
        return ()
    return tuple(dict.fromkeys(_numbers(text, repository, host)))


def members(
    facts: IssueFacts,
    *,
    added: Collection[PullNumber] = (),
    removed: Collection[PullNumber] = (),
    host: str = "github.com",
) -> tuple[Member, ...]:
    """The rivals for an issue by number, whatever their state.

    Pull requests of other repositories never count, a mere mention never makes a rival, and one
    that was removed by command stays out however it is linked.
    """
    found = dict.fromkeys(added, LinkStrength.ADDED)
    for linked in facts.pulls:
        strength = _strength(linked, facts, host)
        if strength is not None:
            found.setdefault(linked.pull.number, strength)
    return tuple(Member(n, found[n]) for n in sorted(found) if n not in removed)


def _strength(linked: LinkedPull, facts: IssueFacts, host: str) -> LinkStrength | None:
    pull, link = linked.pull, linked.link
    ours = facts.repository.full_name
    if pull.repository.lower() != ours.lower():
        return None
    if link.closes:
        return LinkStrength.CLOSING
    elsewhere = pull.base_ref != facts.repository.default_branch
    if elsewhere and facts.number in closing_numbers(pull.body, ours, host):
        return LinkStrength.KEYWORD
    if link.connected:
        return LinkStrength.CONNECTED
    return LinkStrength.CROSS_REFERENCE if link.will_close else None


def _numbers(text: str, repository: str, host: str) -> Iterator[IssueNumber]:
    for match in _pattern(host.lower()).finditer(spoken(text)):
        named = match["short"] or match["url"]
        if named is None or named.lower() == repository.lower():
            yield IssueNumber(int(match["number"]))


@lru_cache(maxsize=8)
def _pattern(host: str) -> re.Pattern[str]:
    name = r"[A-Za-z0-9][\w-]*/[\w.-]+"
    short = rf"(?P<short>{name})?\#|GH-"
    url = rf"https?://{re.escape(host)}/(?P<url>{name})/(?:issues|pull)/"
    return re.compile(
        rf"{_KEYWORD}(?:{short}|{url})(?P<number>[1-9]\d{{0,{_LONGEST_NUMBER - 1}}})\b",
        re.ASCII | re.IGNORECASE,
    )
