"""This module shows whether a server runs the trained adapter, by comparing its log-probabilities (pure).

vLLM silently serves the base model when the module names of an adapter do not fit. It also reuses the prefix cache of
an earlier adapter with the same name. So the trainer records log-probabilities of a few fixed continuations, from the
base model and from the adapted model, and the server answers the same continuations.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from model import typed_json

SCHEMA = "r4p.probe/1"
FILE = "probe.json"
"""The probe's file name in the folder of a run, written as `asdict` of a Probe."""
MAX_MEAN_DISTANCE = 0.1
"""The largest accepted mean difference between server and trainer, in nats. bfloat16 causes about 0.05 per token."""
EXPECTED_EFFECT = (0.8, 1.25)
"""The accepted share of the adapter's effect: 0 is the base model, 1 is the full effect."""
_STANDARD_ERRORS = 2.0
"""The accepted distance of a noisy effect, in standard errors."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A prompt with one continuation, as token ids, and the natural log-probability of each continuation token."""

    prompt: tuple[int, ...]
    continuation: tuple[int, ...]
    base: tuple[float, ...]
    """Log-probabilities of the model without the adapter, at temperature 1."""
    adapted: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.continuation), len(self.base), len(self.adapted)}
        if len(lengths) > 1 or not self.prompt or not self.continuation:
            raise ValueError(
                f"a passage has {len(self.prompt)} tokens, then {len(self.continuation)} worth {len(self.base)} and "
                f"{len(self.adapted)} numbers; give each token its two, and a prompt"
            )


@dataclass(frozen=True, slots=True)
class Probe:
    """The trainer's log-probabilities of a few passages, with and without its adapter, to compare a server with."""

    adapter: str
    """SHA-256 of the adapter's two files."""
    passages: tuple[Passage, ...]
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class ServedLogprobs:
    """A server's log-probabilities of the continuations in a `Probe`, one row per passage."""

    base: tuple[tuple[float, ...], ...]
    base_again: tuple[tuple[float, ...], ...]
    """A second answer of the base model, which shows how much the server's answers vary."""
    adapted: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class ProbeComparison:
    """How a server's log-probabilities differ from those that the trainer measured with the same adapter."""

    tokens: int
    mean_distance: float
    """Mean absolute difference of the adapted model's log-probabilities, in nats."""
    effect: float
    """The served share of the trainer's effect: a slope through 0. NaN when the trainer saw no effect."""
    effect_error: float
    """Standard error of `effect`. Rounding hides a small effect."""
    max_change: float
    """The largest change that the adapter causes on the server, in nats."""
    max_noise: float
    """The largest difference between two answers of the base model, in nats."""


def parse_probe(text: str) -> Probe:
    """Read an adapter's `Probe` from the JSON of its `asdict`. Raises ValueError or TypeError that name the problem."""
    probe = typed_json.read(Probe, json.loads(text))
    if probe.schema != SCHEMA:
        raise ValueError(f"its schema is {probe.schema}; this version reads {SCHEMA}")
    return probe


def compare(probe: Probe, served: ServedLogprobs) -> ProbeComparison:
    """Return how a server's log-probabilities (`served`) differ from those that the trainer recorded in `probe`.

    Raises ValueError when the server answered another number of tokens.
    """
    before = _flatten(passage.base for passage in probe.passages)
    after = _flatten(passage.adapted for passage in probe.passages)
    plain, again, adapted = map(_flatten, (served.base, served.base_again, served.adapted))
    # regression of the served effect on the trained one, through 0
    trained_effect, served_effect = _subtract(after, before), _subtract(adapted, plain)
    pairs = list(zip(trained_effect, served_effect, strict=True))
    square = sum(trained**2 for trained in trained_effect)
    effect = sum(trained * served for trained, served in pairs) / square if square else math.nan
    residual = sum((served - effect * trained) ** 2 for trained, served in pairs)
    return ProbeComparison(
        tokens=len(after),
        mean_distance=fmean(_compute_distances(adapted, after)),
        effect=effect,
        effect_error=math.sqrt(residual / max(1, len(after) - 1) / square) if square else math.nan,
        max_change=max(_compute_distances(adapted, plain)),
        max_noise=max(_compute_distances(again, plain)),
    )


def find_objections(comparison: ProbeComparison) -> tuple[str, ...]:
    """Return the reasons why a server does not serve the trained adapter; empty if it does."""
    if math.isnan(comparison.effect):
        return ("the trainer saw no effect either; check that the adapter was trained",)
    objections = []
    if comparison.max_change <= comparison.max_noise:
        objections.append(
            f"its effect is below the noise of two equal questions ({comparison.max_noise:.4f})"
        )
    low, high, margin = *EXPECTED_EFFECT, _STANDARD_ERRORS * comparison.effect_error
    if comparison.effect - margin <= 0:
        objections.append(
            f"{comparison.effect:.2f} ± {margin:.2f} of its effect arrives, which may be none: "
            f"it serves the base, or {comparison.tokens} tokens are too few to measure so small an effect"
        )
    elif comparison.effect + margin < low or comparison.effect - margin > high:
        objections.append(
            f"{comparison.effect:.2f} ± {margin:.2f} of its effect arrives; between {low} and {high} is expected"
        )
    if not comparison.mean_distance <= MAX_MEAN_DISTANCE:
        objections.append(
            f"log-probabilities differ from the trainer's by {comparison.mean_distance:.3f} in the "
            f"mean of {comparison.tokens} tokens; {MAX_MEAN_DISTANCE} is the most"
        )
    return tuple(objections)


def _flatten(rows: Iterable[Sequence[float]]) -> list[float]:
    return [value for row in rows for value in row]


def _subtract(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]


def _compute_distances(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [abs(difference) for difference in _subtract(left, right)]
