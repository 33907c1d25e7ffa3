"""Decides how long a changed patch waits before the bot judges it again (pure).

Each verdict on a changed patch draws fresh votes, so an author could push small changes until a verdict pleases. An
author's first version is judged at once. Each further version within a day waits twice as long as the one before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.values.identifiers import PullNumber

COUNTED_FOR = timedelta(days=1)
"""Versions that were judged longer ago do not count."""

LONGEST_PAUSE = timedelta(hours=8)

ISSUE_TEXT = PullNumber(0)
"""Stands for the issue's title and body among the versions, because their changes draw fresh votes too."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a pull request's patch, or of the issue's text."""

    pull: PullNumber
    author: str
    """Login; empty when the account is gone, and for the issue's text."""
    content: str
    """Equal for patches that differ in blank lines or comments only."""


@dataclass(frozen=True, slots=True)
class JudgedVersion:
    """A version in a judged evaluation of the group, and the time when the group was collected."""

    version: Version
    judged_at: datetime


def compute_pause(
    judged: Sequence[JudgedVersion],
    present: Sequence[Version],
    quiet_seconds: float,
    now: datetime,
) -> timedelta:
    """Return how long a group of the `present` versions has to wait; zero when it can be judged now.

    `judged` holds the versions of the group's judged evaluations. `quiet_seconds` is the pause after an author's first
    version; it doubles with each further version, up to LONGEST_PAUSE.
    """
    recent = sorted(
        (each for each in judged if now - each.judged_at < COUNTED_FOR),
        key=lambda each: each.judged_at,
    )
    last = {each.version.pull: each.version.content for each in recent}
    changed = [each for each in present if last.get(each.pull) != each.content]
    return max(
        (_compute_rest(recent, each, quiet_seconds, now) for each in changed), default=timedelta(0)
    )


def _compute_rest(
    recent: Sequence[JudgedVersion], changed: Version, quiet_seconds: float, now: datetime
) -> timedelta:
    """Return the rest of the pause since the last change by this author, or of this pull request."""
    own = [
        each
        for each in recent
        if each.version.pull == changed.pull
        or (changed.author and each.version.author == changed.author)
    ]
    changes = list(_list_change_times(own))
    if not changes:
        return timedelta(0)
    # Beyond 20 doublings only the limit counts, and the number would grow without bound.
    pause = timedelta(seconds=quiet_seconds) * (1 << min(len(changes) - 1, 20))
    return max(timedelta(0), min(pause, LONGEST_PAUSE) - (now - changes[-1]))


def _list_change_times(own: Sequence[JudgedVersion]) -> Iterator[datetime]:
    """Yield the times when a pull request's content differed from before. To return to an old version counts too."""
    last: dict[PullNumber, str] = {}
    for each in own:
        if last.get(each.version.pull) != each.version.content:
            yield each.judged_at
        last[each.version.pull] = each.version.content
