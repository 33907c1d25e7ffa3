"""Which model judges an issue, and what may become of a trained one (pure).

A trained adapter is served beside its base under a name that never changes. What changes is who holds the three
aliases: the champion judges, a canary judges a small share of the issues in its place, a shadow judges what they
judge and is only logged.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

IN_PROCESS = "base"
"""What an evaluation calls the base where no server named it."""
UNUSED_AFTER = timedelta(hours=3)
"""Without an alias for so long, no verdict in flight asks an adapter: whoever judges is stopped after two hours."""


class Alias(StrEnum):
    """A place in the line-up; one model holds it at most."""

    CHAMPION = "champion"
    CANARY = "canary"
    SHADOW = "shadow"


class State(StrEnum):
    """How far a trained model has come."""

    CANDIDATE = "candidate"
    REJECTED = "rejected"
    SHADOW = "shadow"
    CANARY = "canary"
    CHAMPION = "champion"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a server needs in order to serve a trained model."""

    name: str
    """`r4p-<YYYYMMDD>-<hash8>`, of these bytes for ever: vLLM keeps cached prefixes by name."""
    base: str
    """The served name of the model that it adapts."""
    directory: Path
    """Holds `adapter_config.json` and `adapter_model.safetensors`; the servers read the same path."""
    sha256: str
    """Of the two files' bytes, in that order."""
    verifier: str
    """Whose prompt and answers it was trained on: a name of the catalogue."""
    probe: Path | None = None
    """What the trainer measured, as `model.adapters.adapter_probe` reads it; None: nothing to compare with."""


@dataclass(frozen=True, slots=True)
class LineUp:
    """Who holds which alias. No champion: the model that the settings name judges."""

    champion: Adapter | None = None
    canary: Adapter | None = None
    share: float = 0.0
    """Of the issues, 0 to 1, that the canary judges."""
    shadow: Adapter | None = None

    def of_verifier(self, verifier: str) -> "LineUp":
        """Less the adapters that were trained to answer another verifier's prompt."""

        def fit(one: Adapter | None) -> Adapter | None:
            return one if one and one.verifier == verifier else None

        return LineUp(fit(self.champion), fit(self.canary), self.share, fit(self.shadow))


def judge_of(issue: str, line_up: LineUp) -> Adapter | None:
    """Who judges an issue (`owner/repo#number`), the same each time it is asked; None: the model of the settings.

    An issue that a canary of 10 % judges is also judged by one of 20 %.
    """
    if line_up.canary and place_of(issue) < line_up.share:
        return line_up.canary
    return line_up.champion


def place_of(issue: str) -> float:
    """Where an issue stands between 0 and 1 (1 left out), by its name alone."""
    return int.from_bytes(hashlib.sha256(issue.encode()).digest()[:8]) / 2**64


def why_not(name: str, state: State, to: Alias) -> str | None:
    """Why a model can't be given an alias; None: it can, and a canary again, with another share."""
    if state == to.value and to is not Alias.CANARY:
        return f"{name} is the {to} already"
    if state is State.REJECTED:
        return f"{name} was rejected; `r4p models show {name}` says why. Train another"
    if state is State.CHAMPION:
        return f"{name} is the champion; promote another in its place, or roll it back first"
    return None


def is_unused(state: State, since: datetime, now: datetime, *, comes_back: bool) -> bool:
    """Whether servers may forget an adapter that is in a state since then.

    `comes_back`: it is who a rollback of the champion would bring back, and that shall take no load.
    """
    has_alias = state in {State.CHAMPION, State.CANARY, State.SHADOW}
    return not has_alias and not comes_back and now - since >= UNUSED_AFTER


def measured_beside(gate: Mapping[str, Any], base: str) -> str:
    """The served name of who a model was measured beside: the champion then, or the base; "nobody" without a measure."""
    said = str((gate.get("measured") or {}).get("champion") or "nobody")
    return base if said == IN_PROCESS else said


def as_far_as(wanted: Alias, gate: Mapping[str, Any]) -> Alias:
    """How far a program may promote by itself: to champion only where outcomes were among what decided."""
    if wanted is Alias.CHAMPION and not gate.get("by_outcomes"):
        return Alias.CANARY
    return wanted


def state_without(alias: Alias) -> State:
    """What becomes of a model in whose place another one comes."""
    return State.RETIRED if alias is Alias.CHAMPION else State.CANDIDATE
