"""Choice of the model that judges an issue, and the states of a trained model (pure).

A server offers a trained adapter beside its base model under a name that never changes. Three aliases change hands:
the champion judges, a canary judges a small share of the issues instead, and a shadow judges the same issues without
publishing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

IN_PROCESS = "base"
"""Name of the base model in an evaluation without a server."""
PASSED = "passed"
"""The gate's word for a model that may be used."""
UNUSED_AFTER = timedelta(hours=3)
"""Time without an alias after which servers may unload an adapter. A verify job stops after two hours, so none can
still use it."""


class Alias(StrEnum):
    """Role of a trained model. At most one model has each alias."""

    CHAMPION = "champion"
    CANARY = "canary"
    SHADOW = "shadow"


class ModelState(StrEnum):
    """State of a trained model: its alias, or candidate, retired or rejected if it has none."""

    CANDIDATE = "candidate"
    REJECTED = "rejected"
    SHADOW = "shadow"
    CANARY = "canary"
    CHAMPION = "champion"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Adapter:
    """The adapter of a trained model, as a model server needs it."""

    name: str
    """`r4p-<YYYYMMDD>-<hash8>`. The name always means the same bytes, because vLLM keeps cached prefixes by name."""
    base: str
    """Served name of its base model."""
    directory: Path
    """Holds `adapter_config.json` and `adapter_model.safetensors`. The servers read the same path."""
    sha256: str
    """SHA-256 of the two files' bytes, in that order."""
    verifier: str
    """Verifier whose prompt and answers it was trained on, as the catalogue names it."""
    probe: Path | None = None
    """The trainer's measurements that `model.adapters.adapter_probe` reads; None: there are none to compare with."""


@dataclass(frozen=True, slots=True)
class LineUp:
    """The models that hold aliases. Without a champion, the model of the settings judges."""

    champion: Adapter | None = None
    canary: Adapter | None = None
    share: float = 0.0
    """Share of the issues, 0 to 1, that the canary judges."""
    shadow: Adapter | None = None

    def select_verifier(self, verifier: str) -> "LineUp":
        """Return the line-up with only those adapters that were trained for this verifier."""

        def fit(adapter: Adapter | None) -> Adapter | None:
            return adapter if adapter and adapter.verifier == verifier else None

        return LineUp(fit(self.champion), fit(self.canary), self.share, fit(self.shadow))


def choose_judge(issue: str, line_up: LineUp) -> Adapter | None:
    """Return the adapter that judges an issue (`owner/repo#number`), or None for the model of the settings.

    The choice depends on the issue's name only. An issue that a canary of 10 % judges is also judged by a canary of
    20 %.
    """
    if line_up.canary and hash_issue(issue) < line_up.share:
        return line_up.canary
    return line_up.champion


def hash_issue(issue: str) -> float:
    """Map an issue's name (`owner/repo#number`) to a fixed number from 0 up to 1, without 1."""
    return int.from_bytes(hashlib.sha256(issue.encode()).digest()[:8]) / 2**64


def explain_refusal(name: str, state: ModelState, to: Alias) -> str | None:
    """Return why the model `name` in the state `state` cannot get the alias `to`, in words; None if it can.

    A canary can become canary again with another share.
    """
    if state == to.value and to is not Alias.CANARY:
        return f"{name} is the {to} already"
    if state is ModelState.REJECTED:
        return (
            f"{name} was rejected; `r4p models show {name}` gives the reason. Train another model"
        )
    if state is ModelState.CHAMPION:
        return f"{name} is the champion; promote another model in its place, or roll it back first"
    return None


def explain_gate_refusal(name: str, gate: Mapping[str, Any], run: Path) -> str | None:
    """Return why the gate's decision keeps the model `name` from every alias, in words; None if the gate passed it."""
    outcome = gate.get("outcome")
    if outcome == PASSED:
        return None
    return (
        f"{name} did not pass the gate ({outcome}: {gate.get('why')}); measure it on more issues with "
        f"r4p train evaluate, then r4p models register {run}; or train another"
    )


def explain_old_champion(
    adapter: Adapter, gate: Mapping[str, Any], run: Path, champion: Adapter | None
) -> str | None:
    """Return that the gate compared a model with an older champion, in words; None if `champion` judges still."""
    now = champion.name if champion else adapter.base
    beside = get_measured_champion(gate, adapter.base)
    if beside == now:
        return None
    option = f" --champion {champion.name}" if champion else ""
    return (
        f"{adapter.name} was compared with {beside}, and {now} judges now; compare it with {now}: r4p "
        f"train evaluate{option}, then r4p models register {run}"
    )


def explain_new_holder(alias: Alias, seen: str | None, now: str | None) -> str | None:
    """Return that an alias changed hands since a person looked at it, in words; None if `seen` holds it still."""
    if seen == now:
        return None
    return f"the {alias} was {seen or 'no model'}, and {now or 'no model'} is it now; look again"


def is_unused(state: ModelState, since: datetime, now: datetime, *, comes_back: bool) -> bool:
    """Return whether servers may unload the adapter of a model that has been in `state` since the time `since`.

    `comes_back` is True if a rollback of the champion would use the model again. Its adapter then stays loaded.
    """
    has_alias = state in {ModelState.CHAMPION, ModelState.CANARY, ModelState.SHADOW}
    return not has_alias and not comes_back and now - since >= UNUSED_AFTER


def get_measured_champion(gate: Mapping[str, Any], base: str) -> str:
    """Return the served name of the champion with which a gate.json compared the model.

    `base` is the served name of the model's base, used when the champion was the base without a server. Without a
    measurement the result is "nobody".
    """
    champion = str((gate.get("measured") or {}).get("champion") or "nobody")
    return base if champion == IN_PROCESS else champion


def limit_alias(wanted: Alias, gate: Mapping[str, Any]) -> Alias:
    """Return the alias for an automatic promotion: `wanted`, or the alias canary where champion is not allowed.

    The alias champion needs a model whose `gate`, its gate.json, was decided by outcomes.
    """
    if wanted is Alias.CHAMPION and not gate.get("by_outcomes"):
        return Alias.CANARY
    return wanted


def get_state_after(alias: Alias) -> ModelState:
    """Return a model's state after another model took its `alias`: retired for champion, otherwise candidate."""
    return ModelState.RETIRED if alias is Alias.CHAMPION else ModelState.CANDIDATE
