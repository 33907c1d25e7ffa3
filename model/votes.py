"""From votes to verdicts: counting, thresholds, and the reason in the winning side's own words (pure)."""

import re
from collections.abc import Iterable, Mapping, Sequence

from model.domain import PatchId, Verdict, Vote, VoteCount

CORRECT_SHARE = 0.6
"""From this share of valid votes on, a patch is held to be correct: 2 of 3, 3 of 5."""
INCORRECT_SHARE = 0.4
"""Down to this share it is held to be incorrect; between the two the votes do not agree."""
EXCERPT_CHARACTERS = 600
"""How much of a reply is quoted as the reason."""

ENGINE_FAILED = "the engine failed"
"""How the failure of a vote begins that the engine is to blame for, and not its reply."""

_NAMED = re.compile(
    r"(?<![\w-])(?:<\s*)?patch(?:[\s_-]*#?)([1-9][0-9]*)(?:\s*>)?(?!\w)", re.IGNORECASE
)
_HEADING = re.compile(
    r"^[\s#>*-]*patch[\s_-]*#?([1-9][0-9]*)[*_]*\s*:[*_]*", re.IGNORECASE | re.MULTILINE
)
"""A paragraph about one seat, as the prompt asks for it."""
_ANSWER = re.compile(r"^.*\\boxed", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def tally(votes: Iterable[Vote], patch: PatchId, asked: int) -> VoteCount:
    """The votes about the seat of `patch`, of `asked` about it; what did not come back counts as none."""
    sides = [vote.correct and patch in vote.correct for vote in votes if _decides(vote, patch)]
    correct = sum(map(bool, sides))
    return VoteCount(correct, len(sides) - correct, max(0, asked - len(sides)))


def decide(count: VoteCount) -> Verdict:
    """Correct from CORRECT_SHARE, incorrect up to INCORRECT_SHARE; else, or with under half of the votes, unsure."""
    if count.share is None or count.valid < count.none:
        return Verdict.UNSURE
    if count.share >= CORRECT_SHARE:
        return Verdict.CORRECT
    return Verdict.INCORRECT if count.share <= INCORRECT_SHARE else Verdict.UNSURE


def explain(votes: Sequence[Vote], patch: PatchId, count: VoteCount) -> str:
    """Why the votes decided as they did about a patch's seat, for a person.

    Quotes what a reply of the winning side says about that seat, at most EXCERPT_CHARACTERS, with
    "patch 2" replaced by the id of whoever sat there. Replies that ended in a box by themselves come first.
    """
    if count.share is None:
        failures = [vote.failure for vote in votes if patch in vote.seats and vote.failure]
        why = f": {_public(failures[0])}" if failures else ""
        return f"None of {count.none} votes could be read{why}"
    tallied = f"{count.correct} of {count.valid} valid votes hold it correct"
    if count.valid < count.none:
        return f"{tallied}; {count.none} votes failed or could not be read, too many to decide"
    if (verdict := decide(count)) is Verdict.UNSURE:
        return f"{tallied}; the votes do not agree"
    winners = [
        vote
        for vote in votes
        if _decides(vote, patch) and (patch in (vote.correct or ())) == (verdict is Verdict.CORRECT)
    ]
    quotes = (_excerpt(vote, patch) for vote in sorted(winners, key=lambda vote: vote.forced))
    quote = next(filter(None, quotes), "")
    return f"{tallied}. {quote}" if quote else f"{tallied}; no reply said why"


def _public(failure: str) -> str:
    """Engine trouble without its details: they name servers, and the reason may be read by anyone."""
    return ENGINE_FAILED if failure.startswith(ENGINE_FAILED) else failure


def _decides(vote: Vote, patch: PatchId) -> bool:
    return vote.correct is not None and patch in vote.seats


def _excerpt(vote: Vote, patch: PatchId) -> str:
    """What a reply says about the patch's seat, seats renamed, cut at a word."""
    seats: Mapping[int, PatchId | None] = dict(enumerate(vote.seats, 1))
    own = vote.seats.index(patch) + 1
    said = _section(vote.reply, own) or _sentences(vote.reply, own)
    text = _NAMED.sub(lambda named: _name(seats, named), said)
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    return text[: EXCERPT_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def _section(reply: str, own: int) -> str:
    """The paragraph headed by the seat's number, on one line; empty when there is none."""
    reasoning = _ANSWER.split(reply, maxsplit=1)[0]
    _before, *parts = _HEADING.split(reasoning)
    sections = dict(zip(map(int, parts[::2]), parts[1::2], strict=True))
    return " ".join(sections.get(own, "").split())


def _sentences(reply: str, own: int) -> str:
    """The sentences that name the seat."""
    return " ".join(
        sentence.strip()
        for sentence in _SENTENCE.split(reply)
        if any(int(number) == own for number in _NAMED.findall(sentence))
        and "boxed" not in sentence
    )


def _name(seats: Mapping[int, PatchId | None], named: re.Match[str]) -> str:
    number = int(named[1])
    if number not in seats:
        return named[0]
    return seats[number] or "an empty seat"
