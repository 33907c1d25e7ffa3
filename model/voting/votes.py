"""This module counts votes, decides when to stop, and explains a verdict in the words of a reply (pure)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from model.domain import PatchId, Verdict, Vote, VoteCount
from model.voting.boxed_answer import read_probabilities
from model.voting.thresholds import AGREEMENT, Thresholds

EXCERPT_CHARACTERS = 600
"""The longest quote from a reply."""

ENGINE_FAILED = "the engine failed"
"""The beginning of a vote's failure when the engine failed, not its reply."""

_SEAT_NAME = re.compile(
    r"(?<![\w-])(?:<\s*)?patch(?:[\s_-]*#?)([1-9][0-9]*)(?:\s*>)?(?!\w)", re.IGNORECASE
)
_HEADING = re.compile(
    r"^[\s#>*-]*patch[\s_-]*#?([1-9][0-9]*)[*_]*\s*:[*_]*", re.IGNORECASE | re.MULTILINE
)
"""The heading of a paragraph about one seat, as the prompt asks for it."""
_ANSWER = re.compile(r"^.*\\boxed", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


Seats = tuple[PatchId | None, ...]


def tally(votes: Iterable[Vote], patch: PatchId) -> VoteCount:
    """Count the votes that showed `patch`, by their answer about it. Failed and unreadable votes count as `none`."""
    about = [vote.correct for vote in votes if patch in vote.seats]
    correct = sum(boxed is not None and patch in boxed for boxed in about)
    none = sum(boxed is None for boxed in about)
    return VoteCount(correct, len(about) - none - correct, none)


def compute_score(votes: Iterable[Vote], patch: PatchId) -> float | None:
    """Compute the mean probability that the readable votes about `patch` state; None without such a vote.

    A vote that states none counts by its box, as 1 or 0.
    """
    values = []
    for vote in votes:
        if vote.correct is not None and patch in vote.seats:
            boxed = float(patch in vote.correct)
            seat = vote.seats.index(patch) + 1
            values.append(read_probabilities(vote.reply).get(seat, boxed))
    return fmean(values) if values else None


def count_engine_failures(votes: Iterable[Vote], patch: PatchId) -> int:
    """Count the votes that showed `patch` and got no reply. `tally` counts them as `none`, with the unreadable votes."""
    return sum(
        patch in vote.seats and (vote.failure or "").startswith(ENGINE_FAILED) for vote in votes
    )


def decide(count: VoteCount, thresholds: Thresholds = AGREEMENT) -> Verdict:
    """Return the verdict for a patch's share of valid votes; unsure when fewer than half of its votes are valid."""
    return thresholds.decide(None if count.valid < count.none else count.share)


def is_settled(count: VoteCount, left: int, thresholds: Thresholds = AGREEMENT) -> bool:
    """Return whether up to `left` more votes cannot change the verdict on a patch with the votes `count`.

    It is enough to check three endings: all correct, all incorrect, all unreadable. Every mixture lies between them.
    """
    # Any mixture of further votes lies between the three endings.
    now = decide(count, thresholds)
    return all(decide(end, thresholds) is now for end in _add_endings(count, left))


def count_votes_to_settle(count: VoteCount, left: int, thresholds: Thresholds = AGREEMENT) -> int:
    """Return the smallest number of agreeing valid votes, among `left` more votes, that could settle a verdict.

    `count` holds the votes about the patch so far. Returns `left` if no smaller number could settle the verdict.
    """
    agreed = (
        more
        for more in range(left)
        if any(is_settled(end, left - more, thresholds) for end in _add_endings(count, more)[:2])
    )
    return next(agreed, left)


def find_open_ballots(
    waiting: Sequence[Seats], counts: Mapping[PatchId, VoteCount], thresholds: Thresholds
) -> list[bool]:
    """Return for each vote not yet asked for, in order, whether it could still change a verdict.

    `waiting` holds the patches on the seats of these votes, `counts` the votes so far about each patch.
    """
    left = Counter(seat for seats in waiting for seat in seats if seat)
    undecided = {
        seat for seat, votes in left.items() if not is_settled(counts[seat], votes, thresholds)
    }
    return [not undecided.isdisjoint(seats) for seats in waiting]


def compute_wave_size(
    waiting: Sequence[Seats], counts: Mapping[PatchId, VoteCount], thresholds: Thresholds
) -> int:
    """Return how many of the `waiting` votes to ask the engine for in one batch.

    It is the smallest number after which every verdict could be settled. `waiting` holds the patches on the seats of
    each vote, `counts` the votes so far about each patch.
    """
    left = Counter(seat for seats in waiting for seat in seats if seat)
    missing = {seat: count_votes_to_settle(counts[seat], n, thresholds) for seat, n in left.items()}
    for cast, seats in enumerate(waiting):
        if not any(more > 0 for more in missing.values()):
            return cast
        missing = {seat: more - (seat in seats) for seat, more in missing.items()}
    return len(waiting)


def _add_endings(count: VoteCount, more: int) -> tuple[VoteCount, VoteCount, VoteCount]:
    """Return the counts after `more` votes that all say correct, incorrect or nothing."""
    return (
        replace(count, correct=count.correct + more),
        replace(count, incorrect=count.incorrect + more),
        replace(count, none=count.none + more),
    )


def explain(votes: Sequence[Vote], patch: PatchId, thresholds: Thresholds = AGREEMENT) -> str:
    """Return the reason of the verdict on `patch`, for people: the count of its votes and a quote of a reply.

    The quote is of the winning side, about this patch, of at most EXCERPT_CHARACTERS, with "patch 2" replaced by the id
    of the patch on seat 2. Replies that were not forced come first.
    """
    count = tally(votes, patch)
    if count == VoteCount():
        return "No vote was cast about it"
    if count.share is None:
        failures = [vote.failure for vote in votes if patch in vote.seats and vote.failure]
        why = f": {_hide_details(failures[0])}" if failures else ""
        return f"None of {count.none} votes could be read{why}"
    tallied = f"{count.correct} of {count.valid} valid votes hold it correct"
    if count.valid < count.none:
        return f"{tallied}; {count.none} votes failed or could not be read, too many to decide"
    if (verdict := decide(count, thresholds)) is Verdict.UNSURE:
        return f"{tallied}; the votes do not agree"
    winners = [
        vote
        for vote in votes
        if _is_valid(vote, patch)
        and (patch in (vote.correct or ())) == (verdict is Verdict.CORRECT)
    ]
    quotes = (_quote_reply(vote, patch) for vote in sorted(winners, key=lambda vote: vote.forced))
    quote = next(filter(None, quotes), "")
    return f"{tallied}. {quote}" if quote else f"{tallied}; no reply said why"


def _hide_details(failure: str) -> str:
    """Shorten an engine failure: its details name servers, and anybody may read the reason."""
    return ENGINE_FAILED if failure.startswith(ENGINE_FAILED) else failure


def _is_valid(vote: Vote, patch: PatchId) -> bool:
    return vote.correct is not None and patch in vote.seats


def _quote_reply(vote: Vote, patch: PatchId) -> str:
    """Quote a reply about the patch's seat, with seats replaced by patch ids, cut at a word."""
    seats: Mapping[int, PatchId | None] = dict(enumerate(vote.seats, 1))
    number = vote.seats.index(patch) + 1
    passage = _find_section(vote.reply, number) or _find_sentences(vote.reply, number)
    text = _SEAT_NAME.sub(lambda match: _name_seat(seats, match), passage)
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    return text[: EXCERPT_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def _find_section(reply: str, number: int) -> str:
    """Return the paragraph with the seat's number as heading, on one line, or an empty text."""
    reasoning = _ANSWER.split(reply, maxsplit=1)[0]
    _before, *parts = _HEADING.split(reasoning)
    sections = dict(zip(map(int, parts[::2]), parts[1::2], strict=True))
    return " ".join(sections.get(number, "").split())


def _find_sentences(reply: str, own: int) -> str:
    """Return the sentences that name the seat."""
    return " ".join(
        sentence.strip()
        for sentence in _SENTENCE.split(reply)
        if any(int(number) == own for number in _SEAT_NAME.findall(sentence))
        and "boxed" not in sentence
    )


def _name_seat(seats: Mapping[int, PatchId | None], match: re.Match[str]) -> str:
    number = int(match[1])
    if number not in seats:
        return match[0]
    return seats[number] or "an empty seat"
