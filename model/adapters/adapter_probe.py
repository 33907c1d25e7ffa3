"""Whether a server answers with the adapter that was trained: its log-probabilities beside the trainer's (pure).

vLLM serves the base without a word when an adapter's module names don't fit, and another adapter's cached prefixes
when a name is used again. So the trainer notes what a few fixed continuations are worth to the base and to the adapted
model, and a server that is to serve it is asked the same.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from model import typed_json

SCHEMA = "r4p.probe/1"
FILE = "probe.json"
"""In a run's folder, as `asdict` of a Probe."""
MOST_APART = 0.1
"""Nats that server and trainer may differ by in the mean of all tokens; bfloat16 makes about 0.05 a token."""
EFFECT = (0.8, 1.25)
"""How much of the adapter's effect has to arrive; 0 is the base, 1 all of it. Rounding blurs it, a mistake loses it."""
_ERRORS = 2.0
"""Standard errors that a blurred effect may lie off."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A prompt with one continuation, as token ids, and what each token of that is worth in natural log-probabilities."""

    prompt: tuple[int, ...]
    continuation: tuple[int, ...]
    base: tuple[float, ...]
    """To the model without the adapter, at temperature 1."""
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
    """What a trainer measured of its adapter."""

    adapter: str
    """SHA-256 of the adapter's two files."""
    passages: tuple[Passage, ...]
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class Served:
    """What a server says of the same continuations, one row of log-probabilities for each passage."""

    base: tuple[tuple[float, ...], ...]
    base_again: tuple[tuple[float, ...], ...]
    """Asked once more: how far its own answers vary."""
    adapted: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """Server and trainer side by side."""

    tokens: int
    apart: float
    """Mean distance of the adapted model's log-probabilities, in nats."""
    effect: float
    """How much of the trainer's effect is served: the slope of one on the other; NaN where the trainer saw none."""
    blur: float
    """Standard error of that: rounding hides a small effect."""
    changed: float
    """Largest difference that the adapter makes on the server."""
    noise: float
    """Largest difference between two answers of the base."""


def from_json(text: str) -> Probe:
    """A probe from what `json.dumps` made of its `asdict`. Raises ValueError or TypeError that say what is wrong."""
    found = typed_json.read(Probe, json.loads(text))
    if found.schema != SCHEMA:
        raise ValueError(f"it is {found.schema}, and {SCHEMA} is understood here")
    return found


def read(probe: Probe, served: Served) -> Reading:
    """Side by side. Raises ValueError when the server told of other tokens than it was asked for."""
    trained = [(one.base, one.adapted) for one in probe.passages]
    before, after = (_flat(rows) for rows in zip(*trained, strict=True))
    plain, again, adapted = (_flat(of) for of in (served.base, served.base_again, served.adapted))
    ours = _less(after, before)
    square = sum(one * one for one in ours)
    theirs = _less(adapted, plain)
    shared = sum(one * other for one, other in zip(ours, theirs, strict=True))
    effect = shared / square if square else math.nan
    off = sum((other - effect * one) ** 2 for one, other in zip(ours, theirs, strict=True))
    return Reading(
        tokens=len(after),
        apart=fmean(_apart(adapted, after)),
        effect=effect,
        blur=math.sqrt(off / max(1, len(after) - 1) / square) if square else math.nan,
        changed=max(_apart(adapted, plain)),
        noise=max(_apart(again, plain)),
    )


def objections(of: Reading) -> tuple[str, ...]:
    """Why the server does not serve what was trained; none: it does."""
    if math.isnan(of.effect):
        return ("the trainer saw no effect of it either; was it trained?",)
    found = []
    if of.changed <= of.noise:
        found.append(
            f"it changes no log-probability by more than asking twice does ({of.noise:.4f})"
        )
    low, high, blur = *EFFECT, _ERRORS * of.blur
    if of.effect - blur <= 0:
        found.append(
            f"{of.effect:.2f} ± {blur:.2f} of its effect arrives, which may be none: it serves the base, or {of.tokens} "
            "tokens are too few to see so small an effect"
        )
    elif of.effect + blur < low or of.effect - blur > high:
        found.append(
            f"{of.effect:.2f} ± {blur:.2f} of its effect arrives; between {low} and {high} is expected"
        )
    if not of.apart <= MOST_APART:
        found.append(
            f"log-probabilities differ from the trainer's by {of.apart:.3f} in the mean of {of.tokens} tokens; "
            f"{MOST_APART} is the most"
        )
    return tuple(found)


def _flat(rows: Iterable[Sequence[float]]) -> list[float]:
    return [one for row in rows for one in row]


def _less(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _apart(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [abs(difference) for difference in _less(one, other)]
