"""The curves of a run (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import GREY, Curve, Curves, Figure, Scale, Section, number
from training.report.run_reader import RunFolder
from training.runs.run_folder import Step

_SMOOTHED = 10
"""Steps whose mean is drawn beside single ones."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A figure, and which numbers of a step stand in it."""

    name: str
    title: str
    axis: str
    about: str
    lines: tuple[tuple[str, str], ...]
    """A curve's name, and the field of its values."""
    scale: Scale = Scale.NUMBER


_FIGURES = (
    _Wanted(
        "reward",
        "Reward",
        "mean reward",
        "Mean over all replies of the step that could be scored.",
        (("reward", "reward"),),
    ),
    _Wanted(
        "format",
        "Replies that can be read",
        "share of replies",
        "A reply without a readable answer is worth nothing.",
        (("format-valid", "format_valid"),),
        Scale.SHARE,
    ),
    _Wanted(
        "entropy",
        "Entropy",
        "nats per token",
        "Of the sampled tokens. Near 0 the model says one thing only, and its replies to one question teach nothing.",
        (("entropy", "entropy"),),
    ),
    _Wanted(
        "deviation",
        "What groups can teach",
        "standard deviation",
        "Of the rewards of replies to one question; 0 where all are worth the same, and then nothing is learnt.",
        (("within a group", "reward_std"),),
    ),
    _Wanted(
        "clipped",
        "Clipped tokens",
        "share of tokens",
        "Tokens whose probability had moved so far within the round that the step ignored them.",
        (("above the range", "clip_high"), ("below it", "clip_low")),
        Scale.PART,
    ),
    _Wanted(
        "loss",
        "Loss",
        "loss",
        "Not comparable between steps: rewards move it.",
        (("loss", "loss"),),
    ),
    _Wanted(
        "speed",
        "Speed",
        "tokens per second",
        "Sampled tokens over the whole step's time, learning included.",
        (("tokens per second", "tokens_per_second"),),
    ),
    _Wanted("rate", "Learning rate", "learning rate", "As the schedule had it.", (("rate", "lr"),)),
)


def curves(run: RunFolder) -> Section:
    """How the run went, step by step."""
    figures = [found for one in _FIGURES if (found := _figure(one, run.steps))]
    told = [sentence for one in _FIGURES[:3] if (sentence := _told(one, run.steps))]
    missing = () if figures else ("No step was done yet, so there is no curve.",)
    return Section("curves", "Curves", tuple(told), tuple(figures), missing=missing)


def _figure(wanted: _Wanted, steps: Sequence[Step]) -> Figure | None:
    """None where the run says nothing of it."""
    found = tuple(
        curve
        for colour, (name, field) in enumerate(wanted.lines)
        for curve in _drawn(name, colour, _values(steps, field))
    )
    if not found:
        return None
    return Figure(
        name=wanted.name,
        title=wanted.title,
        caption=wanted.about,
        alt=f"{wanted.title} over {len(steps)} optimiser steps. {_told(wanted, steps) or ''}".strip(),
        drawing=Curves("optimiser step", wanted.axis, found, scale=wanted.scale),
    )


def _drawn(name: str, colour: int, values: Sequence[tuple[int, float]]) -> Iterator[Curve]:
    """Step by step; in a long run the mean of neighbours, and single steps in the background."""
    if not values:
        return
    if len(values) < 2 * _SMOOTHED:
        yield _curve(name, colour, values)
        return
    yield _curve(f"{name}, each step", GREY, values)
    means = [
        (step, fmean(value for _, value in values[max(0, at + 1 - _SMOOTHED) : at + 1]))
        for at, (step, _) in enumerate(values)
    ]
    yield _curve(f"{name}, mean of the last {_SMOOTHED} steps", colour, means)


def _curve(name: str, colour: int, values: Sequence[tuple[int, float]]) -> Curve:
    return Curve(name, colour, tuple((at, Estimate(value, None, None)) for at, value in values))


def _values(steps: Sequence[Step], field: str) -> list[tuple[int, float]]:
    return [(one.step, value) for one in steps if (value := getattr(one, field)) is not None]


def _told(wanted: _Wanted, steps: Sequence[Step]) -> str | None:
    """Where its first curve began and ended, as means of up to ten steps."""
    values = [value for _, value in _values(steps, wanted.lines[0][1])]
    if len(values) < 2:
        return None
    several = min(_SMOOTHED, len(values) // 2)
    first, last = (number(fmean(part)) for part in (values[:several], values[-several:]))
    over = "the first step" if several == 1 else f"the first {several} steps"
    return f"{wanted.title}: {first} in {over}, {last} in the last{'' if several == 1 else f' {several}'}."
