"""Section: the curves of a run (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import Figure, Gap, Section, format_number
from model.evaluation.report.drawing import (
    GREY,
    Curve,
    Scale,
    draw_curves,
    show_shares,
    show_small_shares,
)
from training.report.run_reader import TrainingRun
from training.runs.run_folder import TrainingStep

_SMOOTHED = 10
"""Number of steps in the moving average."""


@dataclass(frozen=True, slots=True)
class _FigureSpec:
    """A figure and the step fields that it shows."""

    name: str
    title: str
    axis: str
    about: str
    lines: Mapping[str, str]
    """Step field of each curve, by the curve's name."""
    scale: Scale | None = None


_FIGURES = (
    _FigureSpec(
        "reward",
        "Reward",
        "mean reward",
        "Mean over all replies of the step that have a reward.",
        {"reward": "reward"},
    ),
    _FigureSpec(
        "format",
        "Replies that can be read",
        "share of replies",
        "A reply without a readable answer gets reward 0.",
        {"format-valid": "format_valid"},
        show_shares,
    ),
    _FigureSpec(
        "entropy",
        "Entropy",
        "nats per token",
        "Entropy of the sampled tokens. Near 0, all replies to a question are alike and teach nothing.",
        {"entropy": "entropy"},
    ),
    _FigureSpec(
        "deviation",
        "What groups can teach",
        "standard deviation",
        "Deviation of the rewards of replies to one question. At 0 all replies are worth the same, and "
        "nothing is learnt.",
        {"within a group": "reward_std"},
    ),
    _FigureSpec(
        "clipped",
        "Clipped tokens",
        "share of tokens",
        "Tokens that the step ignored because their probability had moved too far within the round.",
        {"above the range": "clip_high", "below it": "clip_low"},
        show_small_shares,
    ),
    _FigureSpec(
        "loss",
        "Loss",
        "loss",
        "Not comparable between steps: rewards move it.",
        {"loss": "loss"},
    ),
    _FigureSpec(
        "speed",
        "Speed",
        "tokens per second",
        "Sampled tokens divided by the time of the whole step, learning included.",
        {"tokens per second": "tokens_per_second"},
    ),
    _FigureSpec(
        "rate",
        "Learning rate",
        "learning rate",
        "Learning rate of the schedule.",
        {"rate": "lr"},
    ),
)


def build_curves_section(run: TrainingRun) -> Section:
    """Build the report section with curves over the optimiser steps: reward, entropy, loss and others.

    A curve without values is left out. Without any curve, the section only says that no step was done.
    """
    changes = (_describe_change(spec, run.steps) for spec in _FIGURES[:3])
    figures = [figure for spec in _FIGURES if (figure := _build_figure(spec, run.steps))]
    gaps = [] if figures else [Gap("No step was done yet, so there is no curve.")]
    return Section("curves", "Curves", [*filter(None, changes), *figures, *gaps])


def _build_figure(spec: _FigureSpec, steps: Sequence[TrainingStep]) -> Figure | None:
    """Build a figure; None where the run has no values for it."""
    curves = [
        curve
        for colour, (name, field) in enumerate(spec.lines.items())
        for curve in _build_curves(name, colour, _list_values(steps, field))
    ]
    if not curves:
        return None
    alt = f"{spec.title} over {len(steps)} optimiser steps. {_describe_change(spec, steps)}".strip()
    draw = partial(draw_curves, curves, ("optimiser step", spec.axis), scale=spec.scale)
    return Figure(spec.name, spec.title, spec.about, alt, draw)


def _build_curves(name: str, colour: int, values: Sequence[tuple[int, float]]) -> Iterator[Curve]:
    """Yield the curve of each step; for long runs in grey, with the moving average above."""
    if 0 < len(values) < 2 * _SMOOTHED:
        yield name, colour, _build_points(values)
    elif values:
        yield f"{name}, each step", GREY, _build_points(values)
        means = [
            (step, fmean(value for _, value in values[max(0, index + 1 - _SMOOTHED) : index + 1]))
            for index, (step, _) in enumerate(values)
        ]
        yield f"{name}, mean of the last {_SMOOTHED} steps", colour, _build_points(means)


def _build_points(values: Sequence[tuple[int, float]]) -> list[tuple[float, Estimate]]:
    return [(step, Estimate(value, None, None)) for step, value in values]


def _list_values(steps: Sequence[TrainingStep], field: str) -> list[tuple[int, float]]:
    return [(step.step, value) for step in steps if (value := getattr(step, field)) is not None]


def _describe_change(spec: _FigureSpec, steps: Sequence[TrainingStep]) -> str:
    """Describe the first and last values of the first curve, as means of up to ten steps; "" for one value."""
    values = [value for _, value in _list_values(steps, next(iter(spec.lines.values())))]
    if len(values) < 2:
        return ""
    several = min(_SMOOTHED, len(values) // 2)
    first, last = (format_number(fmean(part)) for part in (values[:several], values[-several:]))
    over = "the first step" if several == 1 else f"the first {several} steps"
    return f"{spec.title}: {first} in {over}, {last} in the last{'' if several == 1 else f' {several}'}."
