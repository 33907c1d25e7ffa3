"""The forms in which judges answer, and how each is read: a box, a review, or a simulated test report (pure).

The facts about released judges come from their own code; `docs/judges.md` names it. No wording is taken from there.
"""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from model.errors import UnreadableAnswer
from model.voting.boxed_answer import find_box_content, read_box

_FENCE: Final = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)
_LETTER: Final = re.compile(r"\[\[([A-Z])\]\]")
_THOUGHT_END: Final = "</think>"
_MOST_DEFECTS: Final = 3


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """A way to answer. Seats count from 1."""

    name: str
    read: Callable[[str, Collection[int]], frozenset[int]]
    """A function of a reply and the occupied seats. It returns the seats held correct, or raises UnreadableAnswer."""
    is_answered: Callable[[str], bool] = lambda _reply: True
    """A function that returns False for a reply that stopped before its answer. It is continued once from an open box."""
    temperature: float | None = None
    """The temperature at which the judge's authors sample; None takes that of the votes."""
    tokens: int = 0
    """Room that the answer needs, in tokens; 0 for a short answer."""
    quote: Callable[[str], str] | None = None
    """A function that returns the reasons in a readable reply, for people; None: sentences about the seat are quoted."""


def read_choice(reply: str, occupied: Collection[int]) -> frozenset[int]:
    """Return the seats in the last box, or the seat of the last `[[A]]` or `[[B]]` where there is no box.

    The letters are the form of R4P, appendix B.3, and of judges that were trained on it. Another letter is unreadable.
    """
    letters = _LETTER.findall(reply)
    if has_box(reply) or not letters:
        return read_box(reply, occupied)
    seat = "AB".find(letters[-1]) + 1
    if seat not in occupied:
        raise UnreadableAnswer(f"the answer is [[{letters[-1]}]], which the prompt did not offer")
    return frozenset([seat])


def has_choice(reply: str) -> bool:
    """Return whether a reply has a closed box or a letter in double brackets."""
    return has_box(reply) or _LETTER.search(reply) is not None


def has_box(reply: str) -> bool:
    """Return whether a reply has a closed box."""
    return find_box_content(reply) is not None


def read_review(reply: str, _occupied: Collection[int]) -> frozenset[int]:
    """Return {1} for a review that approves, and nothing for one that requests changes (SWE-Review)."""
    decision = _parse_review(reply).get("decision")
    word = decision.get("recommendation") if isinstance(decision, dict) else decision
    if word not in ("approve", "request_changes"):
        raise UnreadableAnswer("the review has no decision of approve or request_changes")
    return frozenset([1] if word == "approve" else [])


def quote_review(reply: str) -> str:
    """Return the assessment of a readable review and its first defects with their places."""
    report = _parse_review(reply)
    summary = report.get("summary")
    parts = [_get_text({"text": summary}, "text") or _get_text(summary, "overall_assessment")]
    defects = report.get("defects")
    for defect in defects[:_MOST_DEFECTS] if isinstance(defects, list) else ():
        place = _get_text(defect.get("location") if isinstance(defect, dict) else None, "path")
        parts.append(": ".join(filter(None, [place, _get_text(defect, "description")])))
    return " ".join(filter(None, parts))


def read_test_report(reply: str, _occupied: Collection[int]) -> frozenset[int]:
    """Return {1} for a simulated test report with reward 1, and nothing for reward 0 (SWE-World)."""
    reward = _parse_object(_drop_thought(reply)).get("reward")
    if reward not in (0, 1, "0", "1"):
        raise UnreadableAnswer("the report has no reward of 0 or 1")
    return frozenset([1] if int(reward) else [])


def quote_test_report(reply: str) -> str:
    """Return the report in a readable reply."""
    return _get_text(_parse_object(_drop_thought(reply)), "test_report")


BOX: Final = ReplyForm("box", read_box, has_box)
CHOICE: Final = ReplyForm("choice", read_choice, has_choice)
REVIEW: Final = ReplyForm("review", read_review, tokens=4096, quote=quote_review)
"""SWE-Review's own code gives a reply 4,096 tokens."""
TEST_REPORT: Final = ReplyForm(
    "test-report", read_test_report, temperature=0.7, tokens=8192, quote=quote_test_report
)
"""SWE-World's own code samples at 0.7 and sets no limit of tokens; the limit is ours."""


def _drop_thought(reply: str) -> str:
    return reply.rpartition(_THOUGHT_END)[2].strip()


def _parse_review(reply: str) -> dict[str, Any]:
    """Parse the whole reply as JSON, else its first fenced block, as SWE-Review's own reader does."""
    text = _drop_thought(reply)
    try:
        return _parse_object(text)
    except UnreadableAnswer:
        if fenced := _FENCE.search(text):
            return _parse_object(fenced[1])
        raise


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer("the reply is no JSON object") from error
    if not isinstance(value, dict):
        raise UnreadableAnswer("the reply is no JSON object")
    return value


def _get_text(value: Any, key: str) -> str:
    text = value.get(key) if isinstance(value, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""
