"""Decides how long a changed group waits before the bot judges it again (pure).

Each verdict on a changed group draws fresh votes, so an author could push small changes, or let pull requests join and
leave, until a verdict pleases. The first evaluation that an author causes on an issue starts at once. Each further one
within a day waits twice as long as the one before. An author also gets a share of the installation's writes only.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.values.identifiers import PullNumber

COUNTED_FOR: Final = timedelta(days=1)
"""Evaluations that were created longer ago do not count."""

LONGEST_PAUSE: Final = timedelta(hours=8)

WRITES_AN_HOUR: Final = 80
"""Writes of the evaluations that one author may cause in an installation within an hour: a fifth of its 400."""

EVALUATIONS_A_DAY: Final = 100
"""Evaluations that one author may cause in an installation within a day."""

ISSUE_TEXT: Final = PullNumber(0)
"""Stands for the issue's title and body among the versions, because their changes draw fresh votes too."""

_HOUR: Final = timedelta(hours=1)

Causes = frozenset[str]
"""Names of what caused an evaluation: authors' logins, and pull requests such as `#12`."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a pull request's patch in a group, or of the issue's text."""

    pull: PullNumber
    author: str
    """Login; empty when the account is gone, and for the issue's text."""
    content: str
    """Equal for patches that differ in blank lines or comments only."""
    head: str = ""

    @property
    def causes(self) -> Causes:
        """Return the names under which a change of this version counts."""
        return frozenset({f"#{self.pull}", self.author.lower()} - {""})


@dataclass(frozen=True, slots=True)
class PastEvaluation:
    """An evaluation that was created before, judged or not."""

    group: int
    created_at: datetime
    fingerprint: str
    causes: Causes
    writes: int
    """A comment, and a check for each pull request."""


@dataclass(frozen=True, slots=True)
class ChangedGroup:
    """A group that differs from its last evaluation."""

    group: int
    changes: tuple[Causes, ...]
    """The causes of each difference. Empty: nobody changed anything."""
    has_verdict: bool
    """Whether the same content has a verdict, which then moves and draws no vote."""
    quiet_seconds: float
    """The pause after an author's first evaluation."""


def find_changes(before: Sequence[Version], present: Sequence[Version]) -> tuple[Causes, ...]:
    """Return the causes of each difference between two groups: content that changed, joined or left.

    Only when there is none, moved heads count.
    """
    by_content = _find_differences(
        {each: (each.pull, each.content) for each in before},
        {each: (each.pull, each.content) for each in present},
    )
    by_head = _find_differences(
        {each: (each.pull, each.head) for each in before},
        {each: (each.pull, each.head) for each in present},
    )
    return by_content or by_head


def _find_differences(
    before: dict[Version, tuple[PullNumber, str]], present: dict[Version, tuple[PullNumber, str]]
) -> tuple[Causes, ...]:
    differing: dict[PullNumber, Causes] = {}
    for versions, others in ((before, present.values()), (present, before.values())):
        for version, key in versions.items():
            if key not in others:
                differing[version.pull] = differing.get(version.pull, frozenset()) | version.causes
    return tuple(differing.values())


def compute_pause(
    past: Sequence[PastEvaluation], changed: ChangedGroup, now: datetime
) -> timedelta:
    """Return how long a changed group has to wait; zero when it can be judged now.

    `past` holds the evaluations of the last day: those of the group, and those in the installation that the same authors
    caused. The author with the shortest pause decides, because nobody may hold up the others.
    """
    recent = sorted(
        (each for each in past if now - each.created_at < COUNTED_FOR),
        key=lambda each: each.created_at,
    )
    rests = [
        max(
            _compute_rest([each for each in recent if causes & each.causes], changed, now),
            _compute_share_rest(
                [each for each in recent if _select_logins(causes) & each.causes], now
            ),
        )
        for causes in changed.changes
    ]
    return max(timedelta(0), min(rests, default=timedelta(0)))


def _compute_rest(
    caused: Sequence[PastEvaluation], changed: ChangedGroup, now: datetime
) -> timedelta:
    """Return the rest of the pause since the last evaluation of the group with one of the causes.

    The pause doubles with each content. A verdict that moves waits the first pause only.
    """
    own = [each for each in caused if each.group == changed.group]
    if not own:
        return timedelta(0)
    drawn = 1 if changed.has_verdict else len({each.fingerprint for each in own})
    # Beyond 20 doublings only the limit counts, and the number would grow without bound.
    pause = timedelta(seconds=changed.quiet_seconds) * (1 << min(drawn - 1, 20))
    return min(pause, LONGEST_PAUSE) - (now - own[-1].created_at)


def _compute_share_rest(caused: Sequence[PastEvaluation], now: datetime) -> timedelta:
    """Return how long the author of these evaluations, oldest first, has used up the share of writes."""
    rest = timedelta(0)
    if len(caused) >= EVALUATIONS_A_DAY:
        rest = caused[-EVALUATIONS_A_DAY].created_at + COUNTED_FOR - now
    writes = 0
    for each in reversed(caused):
        writes += each.writes
        if writes >= WRITES_AN_HOUR:
            return max(rest, each.created_at + _HOUR - now)
    return rest


def list_logins(changes: Collection[Causes]) -> Causes:
    """Return the logins among the causes of changes."""
    return frozenset[str]().union(*map(_select_logins, changes))


def _select_logins(causes: Causes) -> Causes:
    return frozenset(cause for cause in causes if not cause.startswith("#"))
