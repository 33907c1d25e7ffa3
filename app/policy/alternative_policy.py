"""Decisions about alternatives: how many the bot writes, what they may cost, and which of them get a seat (pure).

An attempt is one run of an agent. An attempt becomes an alternative when its patch makes an edit that no rival makes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.settings.repo_config import Alternatives, RepoConfig
from app.values.identifiers import AlternativeNumber
from model.agents.attempt_selection import find_equal_edits
from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import StopReason
from model.domain import PatchId, PatchVerdict, Verdict
from model.voting.grouping import SEATS

MOST_ATTEMPTS = 8
"""Most attempts at one text of an issue on one commit. More attempts hardly differ from the earlier ones."""
MOST_A_DAY = 16
"""Most attempts at one issue in a day. Without this limit, edits of its text or new commits would always allow more."""


class RefusalReason(StrEnum):
    """Why an agent wrote no alternative, or no further one. `app/comments/phrases.py` has the sentences."""

    NO_AGENT = "no_agent"
    """No language model is configured, so there is no agent."""
    NO_BASE = "no_base"
    """The bot has no commit to work on, or could not read its tree."""
    BUDGET = "budget"
    """The repository's budget for today is used up."""
    ENOUGH = "enough"
    """MOST_ATTEMPTS or MOST_A_DAY is reached."""
    NO_TREE = "no_tree"
    """The source tree for the agent is gone."""
    CRASHED = "crashed"
    """The agent's process died."""
    NOBODY = "nobody"
    """No agents worker took the job in time."""
    SAME = "same"
    """The patch makes the same edit as a rival."""
    QUOTES_HINT = "quotes_hint"
    """The patch repeats its guidance."""
    ROUNDS = "rounds"
    TOKENS = "tokens"
    MALFORMED = "malformed"
    TIMEOUT = "timeout"
    ENGINE = "engine"
    NONE_KEPT = "none_kept"

    @property
    def is_temporary(self) -> bool:
        """Whether the reason lies outside the agent, such as a missing engine.

        The bot then tries again and does not count the attempt.
        """
        return self in _TEMPORARY


_TEMPORARY = frozenset(
    {
        RefusalReason.NO_BASE,
        RefusalReason.NO_TREE,
        RefusalReason.CRASHED,
        RefusalReason.NOBODY,
        RefusalReason.ENGINE,
    }
)


@dataclass(frozen=True, slots=True)
class NoAttempt:
    """The decision that agents make no attempt at an issue, with the reason."""

    reason: RefusalReason


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens and seconds that agents used for a repository, or that they may still use."""

    tokens: int = 0
    """Tokens without those from the engine's cache, which cost almost nothing."""
    seconds: float = 0.0
    """Seconds of working agents. Two agents at the same time count twice."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Facts about an issue on which the number of new attempts by agents depends."""

    pulls: int
    """Pull requests that the bot can judge now (`app.policy.group_policy.select_judgeable`)."""
    tried: int
    """Ended attempts at the issue's present text on the present commit, without temporary failures."""
    spent: Cost
    """Today's cost in the whole repository."""
    has_agent: bool
    """True if a language model is configured, so that agents can write."""
    today: int = 0
    """All attempts at this issue today."""
    asked: bool = False
    """True if a person asked with `/r4p propose`."""
    due: int = 0
    """Number of second attempts that have their guidance and can start."""


def count_wanted(config: RepoConfig, now: Situation) -> int | NoAttempt:
    """Return how many new attempts agents should make at an issue, or NoAttempt with the reason against any.

    `now` describes the issue. The result is 0 if neither the settings nor a person wants a further attempt.
    """
    count = max(_count_configured(config, now), int(now.asked)) + now.due
    if not count:
        return 0
    if not now.has_agent:
        return NoAttempt(RefusalReason.NO_AGENT)
    if not has_budget(config, now.spent):
        return NoAttempt(RefusalReason.BUDGET)
    room = min(MOST_ATTEMPTS - now.tried, MOST_A_DAY - now.today)
    return min(count, room) if room > 0 else NoAttempt(RefusalReason.ENOUGH)


def _count_configured(config: RepoConfig, now: Situation) -> int:
    """Count the attempts that the settings want without a command. They need at least one pull request."""
    if not now.pulls or config.alternatives is Alternatives.OFF:
        return 0
    if config.alternatives is Alternatives.FILL:
        return max(0, SEATS - now.pulls - now.tried)
    return max(0, config.alternatives - now.tried)


def has_budget(config: RepoConfig, spent: Cost) -> bool:
    """Report whether a repository has agent tokens and seconds left today. `spent` is today's cost."""
    left = get_remaining_budget(config, spent)
    return left.tokens > 0 and left.seconds > 0


def get_remaining_budget(config: RepoConfig, spent: Cost) -> Cost:
    """Return the agent tokens and seconds that a repository has left after `spent`, today's cost; at least 0."""
    budget = config.alternatives_budget
    return Cost(
        max(0, budget.tokens - spent.tokens), max(0.0, float(budget.seconds) - spent.seconds)
    )


def map_stop_reason(stop: StopReason) -> RefusalReason | None:
    """Return why an attempt that ended with `stop` is no alternative; None if the agent submitted a patch."""
    return None if stop is StopReason.SUBMITTED else RefusalReason(stop.value)


def format_alternative_id(number: AlternativeNumber) -> PatchId:
    """Return the name of an alternative in verdicts and commands, such as `A1`."""
    return PatchId(f"A{number}")


def find_new_edits(rivals: Sequence[str | None], attempts: Sequence[str | None]) -> tuple[int, ...]:
    """Return the indices of those `attempts` whose edit no rival and no earlier attempt makes.

    Both arguments hold diffs; None stands for a missing diff.
    """
    edits = enumerate(find_equal_edits([*rivals, *attempts]))
    # `find_equal_edits` gives for each diff the index of the first diff with the same edit.
    new = (index for index, first in edits if first is not None and index == first >= len(rivals))
    return tuple(index - len(rivals) for index in new)


def choose_best(patches: Iterable[PatchVerdict]) -> PatchId | None:
    """Return the name of the alternative to offer: the most probable one that is judged correct; None: no such one.

    Without probabilities the share of votes decides. The first one wins a tie.
    """
    correct = [patch for patch in patches if patch.verdict is Verdict.CORRECT]
    return max(correct, key=_get_belief).id if correct else None


@dataclass(frozen=True, slots=True)
class SeatCandidate:
    """An alternative that may get a seat, a place among the patches that the next evaluation judges."""

    is_new: bool
    """True if the newest evaluation does not hold the alternative: it was never judged, or lost its seat."""
    is_replaced: bool
    """True if a second attempt replaced it."""
    verdict: PatchVerdict | None = None
    """The alternative's verdict in the newest evaluation; None: not judged yet."""


def count_seats(config: RepoConfig, pulls: int, more: int) -> int:
    """Return how many existing alternatives the bot may judge together with `pulls` pull requests.

    Each patch takes a seat, and `more` seats stay free for alternatives that agents will write. More than four rivals
    are split into parts, so some pull requests are not compared. So alternatives get seats beyond four only if the
    settings give a number, or a person asked by command.
    """
    defaults = {Alternatives.FILL: 0, Alternatives.OFF: 1}
    wish = config.alternatives
    least = defaults[wish] if isinstance(wish, Alternatives) else wish
    return max(0, max(SEATS - pulls, least) - more)


def keep_seats(alternatives: Sequence[SeatCandidate], free: int) -> tuple[int, ...]:
    """Return the indices of the alternatives that keep one of `free` seats in the next evaluation.

    Preferred are, in this order: judged alternatives, those that no second attempt replaced, those that are not judged
    incorrect, and those with a higher probability.
    """
    ranked = sorted(range(len(alternatives)), key=lambda index: _rank(alternatives[index]))
    return tuple(sorted(ranked[:free]))


def _rank(candidate: SeatCandidate) -> tuple[bool, bool, bool, float, float]:
    if candidate.verdict is None:
        return candidate.is_new, candidate.is_replaced, False, 0.0, 0.0
    probability, share = _get_belief(candidate.verdict)
    is_wrong = candidate.verdict.verdict is Verdict.INCORRECT
    return candidate.is_new, candidate.is_replaced, is_wrong, -probability, -share


def _get_belief(patch: PatchVerdict) -> tuple[float, float]:
    return (-1.0 if patch.probability is None else patch.probability, patch.votes.share or 0.0)


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """Facts about an alternative that decide whether it gets a second attempt."""

    number: AlternativeNumber
    verdict: Verdict | None
    """None: not judged yet."""
    is_second: bool
    """True if the alternative is itself a second attempt."""
    has_second: bool
    """True if guidance about the alternative led to another attempt, whatever its result."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Feedback against an alternative from a person, a check or the bot's verdict."""

    source: HintSource
    about: AlternativeNumber | None = None
    """Number of the alternative that the feedback names. None for a verdict: all incorrect alternatives. None for other
    feedback: it names no patch."""


def choose_second_attempts(
    config: RepoConfig, alternatives: Sequence[AttemptSummary], remark: Remark, now: Situation
) -> tuple[AlternativeNumber, ...] | NoAttempt:
    """Return the numbers of the alternatives that get a second attempt with `remark` as guidance; empty: none.

    Returns NoAttempt if agents can make no further attempt. An alternative gets at most one second attempt, and a
    second attempt gets none. The bot's own verdict starts a second attempt only if the repository's settings ask for
    alternatives.
    """
    candidates = tuple(
        attempt for attempt in alternatives if not attempt.is_second and not attempt.has_second
    )
    meant = _select_meant(config, candidates, remark, now)
    if not meant:
        return ()
    most = count_wanted(config, replace(now, due=len(meant)))
    return most if isinstance(most, NoAttempt) else meant[:most]


def _select_meant(
    config: RepoConfig, attempts: Sequence[AttemptSummary], remark: Remark, now: Situation
) -> tuple[AlternativeNumber, ...]:
    """Select the alternatives that the remark is about."""
    if remark.about is not None:
        return tuple(attempt.number for attempt in attempts if attempt.number == remark.about)
    if remark.source is not HintSource.VERDICT:
        # Feedback that names no patch is about the alternative only if there is nothing else.
        is_clear = len(attempts) == 1 and not now.pulls
        return tuple(attempt.number for attempt in attempts) if is_clear else ()
    if config.alternatives is Alternatives.OFF:
        return ()
    return tuple(attempt.number for attempt in attempts if attempt.verdict is Verdict.INCORRECT)
