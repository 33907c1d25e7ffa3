"""Whose presence a verdict hangs on: the votes in which a rival was shown beside those in which it was not (pure)."""

from collections.abc import Iterable, Sequence

from model.domain import PatchId, Vote, VoteCount
from model.voting.votes import tally

LEAST = 2
"""Readable votes needed with a rival and without it: a single one that differs is chance."""


def swayed_by(votes: Iterable[Vote], patch: PatchId) -> tuple[PatchId, ...]:
    """The rivals without whom most votes about a patch's seat say the opposite, by name.

    A rival with too few readable votes on either side is not named: nothing is known of it.
    """
    about = [vote for vote in votes if patch in vote.seats]
    rivals = {seat for vote in about for seat in vote.seats if seat} - {patch}
    return tuple(sorted(one for one in rivals if _sways(one, about, patch)))


def needed(candidates: int) -> int:
    """Votes from which on all of some candidates were left out often enough; 0 where no two are shown together."""
    return LEAST * candidates if candidates > 2 else 0


def _sways(rival: PatchId, about: Sequence[Vote], patch: PatchId) -> bool:
    shown = _majority(tally([vote for vote in about if rival in vote.seats], patch))
    absent = _majority(tally([vote for vote in about if rival not in vote.seats], patch))
    return None not in {shown, absent} and shown is not absent


def _majority(count: VoteCount) -> bool | None:
    """Whether most votes hold the patch correct; None where they are too few, too unreadable, or split evenly."""
    if count.valid < max(LEAST, count.none) or count.correct == count.incorrect:
        return None
    return count.correct > count.incorrect


def explain(count: VoteCount, rivals: Sequence[PatchId]) -> str:
    """Why nothing is claimed, for a person; some votes could be read."""
    tallied = f"{count.correct} of {count.valid} valid votes hold it correct"
    return f"{tallied}; its verdict changes when {' or '.join(rivals)} is not shown"
