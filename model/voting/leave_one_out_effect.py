"""This module finds rivals that decide a verdict, by comparing votes with and without each rival (pure)."""

from collections.abc import Iterable, Sequence

from model.domain import PatchId, Vote, VoteCount
from model.voting.votes import tally

MIN_VOTES = 2
"""The fewest readable votes with and without a rival. A single different vote is chance."""


def find_decisive_rivals(votes: Iterable[Vote], patch: PatchId) -> tuple[PatchId, ...]:
    """Return the ids of the rivals without which most votes about `patch` say the opposite, sorted.

    The result omits a rival if too few votes that showed it, or too few that did not, can be read.
    """
    about = [vote for vote in votes if patch in vote.seats]
    rivals = {seat for vote in about for seat in vote.seats if seat} - {patch}
    return tuple(sorted(rival for rival in rivals if _is_decisive(rival, about, patch)))


def count_needed_votes(candidates: int) -> int:
    """Return how many votes leave out each patch of a group MIN_VOTES times, if each vote leaves out one patch.

    `candidates` is the number of patches. The result is 0 for up to two: without one of them, no rival is left to
    compare with.
    """
    return MIN_VOTES * candidates if candidates > 2 else 0


def _is_decisive(rival: PatchId, about: Sequence[Vote], patch: PatchId) -> bool:
    shown = _find_majority(tally([vote for vote in about if rival in vote.seats], patch))
    absent = _find_majority(tally([vote for vote in about if rival not in vote.seats], patch))
    return None not in {shown, absent} and shown is not absent


def _find_majority(count: VoteCount) -> bool | None:
    """Return whether most votes hold the patch correct; None for too few readable votes or a tie."""
    if count.valid < max(MIN_VOTES, count.none) or count.correct == count.incorrect:
        return None
    return count.correct > count.incorrect


def explain_dependence(count: VoteCount, rivals: Sequence[PatchId]) -> str:
    """Return the reason, for people, of a verdict that claims nothing because it depends on these rivals.

    `count` holds the votes about the patch, of which at least one must be valid.
    """
    tallied = f"{count.correct} of {count.valid} valid votes hold it correct"
    return f"{tallied}; its verdict changes when {' or '.join(rivals)} is not shown"
