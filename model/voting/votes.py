"""From votes to verdicts: counting, when to stop, and the reason in the winning side's own words (pure)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from model.domain import PatchId, Verdict, Vote, VoteCount
from model.voting.thresholds import AGREEMENT, Thresholds

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


Seats = tuple[PatchId | None, ...]


def tally(votes: Iterable[Vote], patch: PatchId) -> VoteCount:
    """The votes about the seat of `patch`; those that failed or could not be read count as none."""
    about = [vote.correct for vote in votes if patch in vote.seats]
    correct = sum(boxed is not None and patch in boxed for boxed in about)
    none = sum(boxed is None for boxed in about)
    return VoteCount(correct, len(about) - none - correct, none)


def decide(count: VoteCount, thresholds: Thresholds = AGREEMENT) -> Verdict:
    """What the share of valid votes amounts to; unsure when fewer than half of the votes are valid."""
    return thresholds.verdict(None if count.valid < count.none else count.share)


def settled(count: VoteCount, left: int, thresholds: Thresholds = AGREEMENT) -> bool:
    """Whether up to `left` more votes give the same verdict whatever they say, and if none can be read.

    Between votes that all agree lie all other ends, so three ends tell.
    """
    now = decide(count, thresholds)
    return all(decide(end, thresholds) is now for end in _ends(count, left))


def fewest_to_settle(count: VoteCount, left: int, thresholds: Thresholds = AGREEMENT) -> int:
    """After how many of `left` more valid votes that agree the verdict could be settled; all when it could not."""
    agreed = (
        more
        for more in range(left)
        if any(settled(end, left - more, thresholds) for end in _ends(count, more)[:2])
    )
    return next(agreed, left)


def still_open(
    waiting: Sequence[Seats], counts: Mapping[PatchId, VoteCount], thresholds: Thresholds
) -> list[bool]:
    """Of ballots that wait to be cast, which one could still change what is thought of somebody on it."""
    left = Counter(seat for seats in waiting for seat in seats if seat)
    undecided = {
        seat for seat, votes in left.items() if not settled(counts[seat], votes, thresholds)
    }
    return [not undecided.isdisjoint(seats) for seats in waiting]


def next_wave(
    waiting: Sequence[Seats], counts: Mapping[PatchId, VoteCount], thresholds: Thresholds
) -> int:
    """How many of the waiting ballots to cast before it is worth asking again whether the rest can change anything."""
    left = Counter(seat for seats in waiting for seat in seats if seat)
    missing = {seat: fewest_to_settle(counts[seat], n, thresholds) for seat, n in left.items()}
    for cast, seats in enumerate(waiting):
        if not any(more > 0 for more in missing.values()):
            return cast
        missing = {seat: more - (seat in seats) for seat, more in missing.items()}
    return len(waiting)


def _ends(count: VoteCount, more: int) -> tuple[VoteCount, VoteCount, VoteCount]:
    """The counts after as many more votes that all say the same."""
    return (
        replace(count, correct=count.correct + more),
        replace(count, incorrect=count.incorrect + more),
        replace(count, none=count.none + more),
    )


def explain(votes: Sequence[Vote], patch: PatchId, thresholds: Thresholds = AGREEMENT) -> str:
    """Why the votes decided as they did about a patch's seat, for a person.

    Quotes what a reply of the winning side says about that seat, at most EXCERPT_CHARACTERS, with
    "patch 2" replaced by the id of whoever sat there. Replies that ended in a box by themselves come first.
    """
    count = tally(votes, patch)
    if count == VoteCount():
        return "No vote was cast about it"
    if count.share is None:
        failures = [vote.failure for vote in votes if patch in vote.seats and vote.failure]
        why = f": {_public(failures[0])}" if failures else ""
        return f"None of {count.none} votes could be read{why}"
    tallied = f"{count.correct} of {count.valid} valid votes hold it correct"
    if count.valid < count.none:
        return f"{tallied}; {count.none} votes failed or could not be read, too many to decide"
    if (verdict := decide(count, thresholds)) is Verdict.UNSURE:
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
