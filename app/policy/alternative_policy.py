"""Patches of our own beside the pull requests: how many are wanted, what they may cost, which are rivals (pure).

An attempt is one run of an agent. An alternative is an attempt whose patch is judged: it makes an edit that no rival makes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.settings.repo_config import Alternatives, RepoConfig
from app.values.identifiers import AlternativeNumber
from model.agents.attempt_selection import same_edits
from model.agents.trajectories.guidance import Source
from model.agents.trajectories.trajectory import Stop
from model.domain import PatchId, PatchVerdict, Verdict
from model.voting.grouping import SEATS

MOST_ATTEMPTS = 8
"""Attempts at one text of an issue on one commit, whoever asks: more of the same hardly differ."""
MOST_A_DAY = 16
"""Attempts at one issue in a day, whatever became of them: anybody may edit its text or move its commits."""


class WhyNot(StrEnum):
    """Why there is no alternative, or no further one; `app/comments/phrases.py` has the sentences."""

    NO_AGENT = "no_agent"
    """No language model is configured, so there is no agent."""
    NO_BASE = "no_base"
    """There is no commit to work on, or its tree could not be read."""
    BUDGET = "budget"
    """What the repository may spend on alternatives today is spent."""
    ENOUGH = "enough"
    """MOST_ATTEMPTS were made, or MOST_A_DAY."""
    NO_TREE = "no_tree"
    """The tree that was handed over is gone."""
    CRASHED = "crashed"
    """The agent's process died."""
    NOBODY = "nobody"
    """No agent came to it in time."""
    SAME = "same"
    """It makes the same edit as a rival."""
    QUOTES_HINT = "quotes_hint"
    """It repeats the hint that it was given."""
    ROUNDS = "rounds"
    TOKENS = "tokens"
    MALFORMED = "malformed"
    TIMEOUT = "timeout"
    ENGINE = "engine"
    NONE_KEPT = "none_kept"

    @property
    def is_passing(self) -> bool:
        """Whether it is no fault of the agent's: such an attempt is made again, and does not count as tried."""
        return self in _PASSING


_PASSING = frozenset({WhyNot.NO_BASE, WhyNot.NO_TREE, WhyNot.CRASHED, WhyNot.NOBODY, WhyNot.ENGINE})


@dataclass(frozen=True, slots=True)
class Refused:
    """No attempt is made."""

    reason: WhyNot


@dataclass(frozen=True, slots=True)
class Spent:
    """What agents cost a repository, or may cost it."""

    tokens: int = 0
    """Without those that the engine had in its cache: they cost next to nothing."""
    seconds: float = 0.0
    """Of agents at work; of two side by side both count."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the decision rests on."""

    pulls: int
    """Pull requests that can be judged now (`app.policy.group_policy.judgeable`)."""
    tried: int
    """Attempts at this issue's present text on this commit that ended. Failures that were not the agent's
    (`WhyNot.is_passing`) don't count."""
    spent: Spent
    """Today, in the whole repository."""
    has_agent: bool
    """A language model is there to write with."""
    today: int = 0
    """Attempts at this issue since the day began, however they ended."""
    asked: bool = False
    """By `/r4p propose`."""
    due: int = 0
    """Second attempts for which there is a hint."""


def wanted(config: RepoConfig, now: Situation) -> int | Refused:
    """How many new attempts to make; 0: nobody wants one, or they were made already."""
    count = max(_configured(config, now), int(now.asked)) + now.due
    if not count:
        return 0
    if not now.has_agent:
        return Refused(WhyNot.NO_AGENT)
    if not has_budget(config, now.spent):
        return Refused(WhyNot.BUDGET)
    room = min(MOST_ATTEMPTS - now.tried, MOST_A_DAY - now.today)
    return min(count, room) if room > 0 else Refused(WhyNot.ENOUGH)


def _configured(config: RepoConfig, now: Situation) -> int:
    """Those that the settings want without being asked, and only beside a pull request."""
    if not now.pulls or config.alternatives is Alternatives.OFF:
        return 0
    if config.alternatives is Alternatives.FILL:
        return max(0, SEATS - now.pulls - now.tried)
    return max(0, config.alternatives - now.tried)


def has_budget(config: RepoConfig, spent: Spent) -> bool:
    """Whether anything of today's budget is left."""
    left = remaining(config, spent)
    return left.tokens > 0 and left.seconds > 0


def remaining(config: RepoConfig, spent: Spent) -> Spent:
    """What is left of today's budget, never below nothing."""
    budget = config.alternatives_budget
    return Spent(
        max(0, budget.tokens - spent.tokens), max(0.0, float(budget.seconds) - spent.seconds)
    )


def failure(stop: Stop) -> WhyNot | None:
    """Why an attempt that ended so is no alternative; None: it handed in a patch."""
    return None if stop is Stop.SUBMITTED else WhyNot(stop.value)


def alternative_id(number: AlternativeNumber) -> PatchId:
    """How an alternative is called among its rivals, and in commands: `A1`."""
    return PatchId(f"A{number}")


def new_edits(rivals: Sequence[str | None], attempts: Sequence[str | None]) -> tuple[int, ...]:
    """The places of those attempts whose edit no rival and no earlier attempt makes.

    Both are diffs; None: there is none.
    """
    edits = enumerate(same_edits([*rivals, *attempts]))
    first = (at for at, one in edits if one is not None and at == one >= len(rivals))
    return tuple(at - len(rivals) for at in first)


def best(patches: Iterable[PatchVerdict]) -> PatchId | None:
    """The alternative to offer: of those that were judged correct the likeliest, the first of equals."""
    correct = [one for one in patches if one.verdict is Verdict.CORRECT]
    return max(correct, key=_belief).id if correct else None


@dataclass(frozen=True, slots=True)
class Seated:
    """An alternative, as the decision on its seat sees it."""

    is_new: bool
    """It is not in the newest evaluation: it was never judged, or lost its seat."""
    is_replaced: bool
    """A second attempt at it is there."""
    said: PatchVerdict | None = None
    """What the newest evaluation says of it; None: nothing yet."""


def seats(config: RepoConfig, pulls: int, more: int) -> int:
    """How many alternatives keep a seat beside pull requests and `more` that will be written.

    Above four rivals the group is parted, and pull requests may not meet. Only who asks for them gets ours all the same:
    a number of them, or one by command.
    """
    named = {Alternatives.FILL: 0, Alternatives.OFF: 1}
    wish = config.alternatives
    least = named[wish] if isinstance(wish, Alternatives) else wish
    return max(0, max(SEATS - pulls, least) - more)


def keep_seats(alternatives: Sequence[Seated], free: int) -> tuple[int, ...]:
    """The places of those that stay: first those that are there, that no second attempt replaced, that are believed."""
    ranked = sorted(range(len(alternatives)), key=lambda at: _rank(alternatives[at]))
    return tuple(sorted(ranked[:free]))


def _rank(one: Seated) -> tuple[bool, bool, bool, float, float]:
    if one.said is None:
        return one.is_new, one.is_replaced, False, 0.0, 0.0
    probability, share = _belief(one.said)
    is_wrong = one.said.verdict is Verdict.INCORRECT
    return one.is_new, one.is_replaced, is_wrong, -probability, -share


def _belief(one: PatchVerdict) -> tuple[float, float]:
    return (-1.0 if one.probability is None else one.probability, one.votes.share or 0.0)


@dataclass(frozen=True, slots=True)
class Tried:
    """An alternative, as the decision on a second attempt sees it."""

    number: AlternativeNumber
    verdict: Verdict | None
    """None: not judged yet."""
    is_second: bool
    """A hint led to it."""
    has_second: bool
    """A hint about it led to another attempt, whatever came of that."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody, a check or our own verdict says against an alternative."""

    source: Source
    about: AlternativeNumber | None = None
    """None: of a verdict all that it calls incorrect; of others, that they name no patch."""


def second_attempts(
    config: RepoConfig, alternatives: Sequence[Tried], remark: Remark, now: Situation
) -> tuple[AlternativeNumber, ...] | Refused:
    """Which alternatives get a second attempt with the remark as a hint: each one at most, a second attempt none.

    Our own verdict leads to one only where the settings want alternatives; whoever else speaks has asked for it.
    """
    open_ = tuple(one for one in alternatives if not one.is_second and not one.has_second)
    meant = _meant(config, open_, remark, now)
    if not meant:
        return ()
    most = wanted(config, replace(now, due=len(meant)))
    return most if isinstance(most, Refused) else meant[:most]


def _meant(
    config: RepoConfig, open_: Sequence[Tried], remark: Remark, now: Situation
) -> tuple[AlternativeNumber, ...]:
    """Those that the remark is about."""
    if remark.about is not None:
        return tuple(one.number for one in open_ if one.number == remark.about)
    if remark.source is not Source.VERDICT:
        # Words that name no patch are about ours only where there is no other.
        return tuple(one.number for one in open_) if len(open_) == 1 and not now.pulls else ()
    if config.alternatives is Alternatives.OFF:
        return ()
    return tuple(one.number for one in open_ if one.verdict is Verdict.INCORRECT)
