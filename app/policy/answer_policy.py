"""Decides whether the bot answers a comment with `/r4p` commands, so that strangers cannot spend its writes (pure).

The rules are the same for comments and for reviews.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from app.values.permission import Permission

ANSWERS_AN_HOUR: Final = 3
"""Comments of one person in one repository that the bot answers within an hour, below triage permission."""
ANSWER_WINDOW: Final = timedelta(hours=1)
SILENCE: Final = timedelta(minutes=5)
"""Time after a silence in which the bot does not even ask GitHub for the person's permission."""


class Silence(StrEnum):
    """Why the bot gives no answer, as the metric of ignored deliveries counts it."""

    CAPPED = "commands of a person who has used up the answers of this hour"
    TOLD = "commands of a person who was told of the missing permission before"
    LOCKED = "commands in a conversation that takes no reply"


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """What the bot answered to other comments of one person in one repository."""

    answers: int = 0
    """Comments that the bot answered within the last hour."""
    was_refused: bool = False
    """Whether the bot told the person on this issue or pull request that a command needs more permission."""
    was_silent: bool = False
    """Whether the bot was silent to the person within the last five minutes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comment asks for, and where."""

    permission: Permission
    """The author's permission, as GitHub's API told it."""
    has_refused: bool
    """Whether a command needs more permission than the author has."""
    has_others: bool
    """Whether the comment holds anything else to answer: an allowed command or a mistake."""
    is_locked: bool
    """Whether only members may write in the conversation."""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """What the bot does about a comment with commands."""

    carries_out: bool
    """Whether the bot carries out the allowed commands."""
    tells_refusal: bool
    """Whether the bot tells which commands need more permission."""
    silence: Silence | None = None
    """Why the bot writes neither a reply nor a reaction; None: it may write both."""


def is_exempt(permission: Permission) -> bool:
    """Return whether the bot answers every comment of a person with this permission."""
    return permission.rank >= Permission.TRIAGE.rank


def plan_answer(history: AnswerHistory, asked: Asked) -> AnswerPlan:
    """Decide what the bot does about a comment: three answers an hour below triage, and each refusal once an issue."""
    if not is_exempt(asked.permission) and history.answers >= ANSWERS_AN_HOUR:
        return AnswerPlan(carries_out=False, tells_refusal=False, silence=Silence.CAPPED)
    if asked.is_locked:
        return AnswerPlan(carries_out=asked.has_others, tells_refusal=False, silence=Silence.LOCKED)
    tells = asked.has_refused and not history.was_refused
    silence = None if tells or asked.has_others else Silence.TOLD
    return AnswerPlan(carries_out=asked.has_others, tells_refusal=tells, silence=silence)
