"""Pairs of an attempt that had a hint and the one before it, which had none (Agent-RLVR, section 3) (pure).

What is learnt is to act without the hint as one would with it: it is taken out of the better one's prompt, and who
repeats it in its own words teaches nothing. Issues of an evaluation are never learnt from.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from model.agents.trajectories import trajectory_json
from model.agents.trajectories.guidance import Source
from model.agents.trajectories.trajectory import Trajectory

HELD_OUT = "its issue is held out for evaluation"
NO_PARENT = "the attempt that its hint is about is not known"
QUOTES = "it repeats its hint"
UNJUDGED = "nobody judged it, or the one before it"
NO_BETTER = "it is no better than the one before it"
NO_TALK = "a pipeline's attempt is no conversation"
OTHER_PROMPT = "it was asked something else than the one before it"


@dataclass(frozen=True, slots=True)
class JudgedAttempt:
    """An attempt with what is believed of its patch."""

    issue: str
    """`owner/repo#number`, as in the groups of a dataset."""
    belief: float | None
    """The probability that its patch is correct, 0 where it handed in none; None: nobody judged it."""
    trajectory: Trajectory

    @property
    def name(self) -> str:
        """What a later attempt's hint calls it."""
        return trajectory_json.identity(self.trajectory)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two attempts at one issue from one prompt, one better than the other."""

    issue: str
    chosen: Trajectory
    """Without its hint."""
    rejected: Trajectory


@dataclass(slots=True)
class Pairs:
    """What can be learnt, and why the other guided attempts can't."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def guided(
    attempts: Sequence[JudgedAttempt], held_out: Collection[str] = (), *, at_least: float = 0.5
) -> Pairs:
    """Every guided attempt that is rather correct than not, and more so than the one its hint is about."""
    known = {one.name: one for one in attempts}
    found = Pairs()
    for one in attempts:
        if one.trajectory.guidance is None:
            continue
        pair = _pair(one, known, held_out, at_least)
        if isinstance(pair, Pair):
            found.pairs.append(pair)
        else:
            found.left_out[pair] += 1
    return found


def _pair(
    better: JudgedAttempt,
    known: Mapping[str, JudgedAttempt],
    held_out: Collection[str],
    at_least: float,
) -> Pair | str:
    """The pair, or why there is none."""
    hint = better.trajectory.guidance
    first = known.get(hint.parent) if hint else None
    if better.issue in held_out:
        return HELD_OUT
    if hint is None or first is None:
        return NO_PARENT
    if worse := _objection(better.belief, _found_wanting(first.belief, hint.source), at_least):
        return worse
    chosen = better.trajectory.without_guidance()
    if chosen is None:
        return QUOTES
    rejected = first.trajectory.without_guidance()
    return QUOTES if rejected is None else _comparable(better.issue, chosen, rejected)


def _comparable(issue: str, chosen: Trajectory, rejected: Trajectory) -> Pair | str:
    if not chosen.opening or not rejected.opening:
        return NO_TALK
    if (chosen.opening, chosen.tools) != (rejected.opening, rejected.tools):
        return OTHER_PROMPT
    return Pair(issue, chosen, rejected)


def _found_wanting(belief: float | None, source: Source) -> float | None:
    """What is believed of an attempt that got a hint: a maintainer or a check that says it is wrong knows it."""
    return belief if source is Source.VERDICT else 0.0


def _objection(better: float | None, worse: float | None, at_least: float) -> str | None:
    if better is None or worse is None:
        return UNJUDGED
    return None if better >= at_least and better > worse else NO_BETTER
