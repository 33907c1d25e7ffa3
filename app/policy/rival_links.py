"""Finds the rivals of an issue and how strongly each is linked to it (pure).

GitHub decides which issues a merge closes. The keywords read here matter only for pull requests to another base than
the default branch, which GitHub leaves out.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from app.github.facts import IssueFacts, LinkedPull, PullIssues
from app.values.identifiers import IssueNumber, PullNumber
from app.values.markdown_prose import strip_quotes_and_code

_KEYWORD = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?::\s*|\s+)"
_LONGEST_NUMBER = 9
_HAS_KEYWORD = re.compile(r"\b(?:close|fix|resolve)", re.ASCII | re.IGNORECASE)
_HAS_NUMBER = re.compile(r"(?:#|GH-|/issues/|/pull/)[1-9]", re.ASCII | re.IGNORECASE)


class LinkStrength(StrEnum):
    """Why a pull request is a rival, strongest reason first."""

    ADDED = "added"
    """A maintainer added it by command."""
    CLOSING = "closing"
    """Its merge will close the issue, by keyword or by hand."""
    KEYWORD = "keyword"
    """Its text has a closing keyword, but GitHub ignores it because its base is not the default branch."""
    CONNECTED = "connected"
    """Somebody connected it in the issue's timeline."""
    CROSS_REFERENCE = "cross_reference"
    """It mentions the issue in words that GitHub reads as closing."""

    @property
    def rank(self) -> int:
        """Position of this reason in the order of strength; 0 is the strongest."""
        return list(LinkStrength).index(self)


@dataclass(frozen=True, slots=True)
class Member:
    """One pull request of a group, with the reason why it is a rival."""

    number: PullNumber
    strength: LinkStrength


def find_closing_numbers(
    text: str, repository: str, host: str = "github.com"
) -> tuple[IssueNumber, ...]:
    """Return the issue numbers of `repository` (`owner/name`) that a Markdown text promises to close, each once.

    `host` is GitHub's host in links. A text without a keyword or a number costs almost nothing, whatever its Markdown.
    """
    if not (_HAS_KEYWORD.search(text) and _HAS_NUMBER.search(text)):
        return ()
    return tuple(dict.fromkeys(_find_numbers(text, repository, host)))


def find_members(
    facts: IssueFacts,
    *,
    added: Collection[PullNumber] = (),
    removed: Collection[PullNumber] = (),
    host: str = "github.com",
) -> tuple[Member, ...]:
    """Return the rivals of an issue, ordered by number, whether open or closed.

    `added` and `removed` are pull requests that a person named by command; a removed one stays out. Pull requests of
    other repositories never count, and a mere mention does not count. `host` is GitHub's host in links.
    """
    strengths = dict.fromkeys(added, LinkStrength.ADDED)
    for linked in facts.pulls:
        strength = _rate_link(linked, facts, host)
        if strength is not None:
            strengths.setdefault(linked.pull.number, strength)
    return tuple(Member(n, strengths[n]) for n in sorted(strengths) if n not in removed)


def find_closed_issues(pull: PullIssues, repository: str, host: str) -> tuple[IssueNumber, ...]:
    """Return the issues of `repository` (`owner/name`) that a pull request promises to close, each once.

    `host` is GitHub's host in links. A pull request to another base than the default branch is read for keywords.
    """
    closed = [each.number for each in pull.closes if each.repository.lower() == repository.lower()]
    if pull.pull.base_ref != pull.default_branch:
        closed += find_closing_numbers(pull.pull.body, repository, host)
    return tuple(dict.fromkeys(closed))


def _rate_link(linked: LinkedPull, facts: IssueFacts, host: str) -> LinkStrength | None:
    pull, link = linked.pull, linked.link
    full_name = facts.repository.full_name
    if pull.repository.lower() != full_name.lower():
        return None
    if link.closes:
        return LinkStrength.CLOSING
    elsewhere = pull.base_ref != facts.repository.default_branch
    if elsewhere and facts.number in find_closing_numbers(pull.body, full_name, host):
        return LinkStrength.KEYWORD
    if link.connected:
        return LinkStrength.CONNECTED
    return LinkStrength.CROSS_REFERENCE if link.will_close else None


def _find_numbers(text: str, repository: str, host: str) -> Iterator[IssueNumber]:
    for match in _build_pattern(host.lower()).finditer(strip_quotes_and_code(text)):
        named = match["short"] or match["url"]
        if named is None or named.lower() == repository.lower():
            yield IssueNumber(int(match["number"]))


@lru_cache(maxsize=8)
def _build_pattern(host: str) -> re.Pattern[str]:
    name = r"[A-Za-z0-9][\w-]*/[\w.-]+"
    short = rf"(?P<short>{name})?\#|GH-"
    url = rf"https?://{re.escape(host)}/(?P<url>{name})/(?:issues|pull)/"
    return re.compile(
        rf"{_KEYWORD}(?:{short}|{url})(?P<number>[1-9]\d{{0,{_LONGEST_NUMBER - 1}}})\b",
        re.ASCII | re.IGNORECASE,
    )
