"""Read the issue from a model's reply (pure)."""

import re
from enum import StrEnum
from typing import Final

from model.agents.think_tags import strip_thought
from model.prompts.untrusted import restore_escapes

MOST_CHARACTERS: Final = 6_000
"""The longest issue. It is above what the prompt asks for."""
_MOST_TITLE: Final = 200
_HEADING: Final = re.compile(r"^(?:#{1,6}\s+|\*\*|title:\s*)+|\*\*$", re.IGNORECASE)
"""Marks of a title that the first line does not need."""
_INSIDER: Final = re.compile(
    r"\b(?:(?:failing|unit)\s+tests?|tests?\s+(?:that\s+)?fail(?:s|ed)?|(?:the|this)\s+(?:commit|patch|diff|test\s+suite))\b",
    re.IGNORECASE,
)
"""Phrases that show knowledge of the commit or of its tests. A user's issue does not hold them; small models write them."""


class NoIssueReason(StrEnum):
    """Why a model's issue is not used as the statement of a task. `gym.json` counts the tasks by these words."""

    ENGINE_FAILED = "the engine failed"
    PROMPT_TOO_LONG = "the prompt does not fit into the model's context"
    REPLY_CUT = "the reply was cut at its limit of tokens"
    NO_ISSUE = "the reply holds no readable issue"
    INSIDER = "the reply speaks of the commit or of its tests"
    LEAK = "the reply gives away the solution or a test"


class NoIssue(Exception):
    """A model wrote no issue that can be used. `reason` says why."""

    def __init__(self, reason: NoIssueReason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def read_issue(reply: str) -> str:
    """Return the issue of a reply: its title, an empty line and its text. Raises NoIssue.

    The issue stands in the last pair of `<issue>` tags after the model's thought. Escapes of the prompt become characters again.
    """
    answer = strip_thought(reply.replace("\r\n", "\n")) or ""
    title, _, body = restore_escapes(_cut_issue(answer)).strip().partition("\n")
    title, body = _HEADING.sub("", title.strip()).strip(), body.strip()
    text = f"{title}\n\n{body}\n"
    if not title or not body or len(title) > _MOST_TITLE or len(text) > MOST_CHARACTERS:
        raise NoIssue(NoIssueReason.NO_ISSUE)
    if _INSIDER.search(text):
        raise NoIssue(NoIssueReason.INSIDER)
    return text


def _cut_issue(answer: str) -> str:
    """Return the text between the last `</issue>` and the last `<issue>` before it; empty without both."""
    lower = answer.lower()
    end = lower.rfind("</issue>")
    start = lower.rfind("<issue>", 0, max(end, 0))
    return "" if min(start, end) < 0 else answer[start + len("<issue>") : end]
