"""Plans as TOML files: those that come with the bot, and one's own."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from training.plans.plan import BadPlan, TrainPlan

SHIPPED = Path(__file__).parent
_ADAPTER = TypeAdapter(TrainPlan)


def shipped() -> tuple[str, ...]:
    """Names of the plans that come with the bot."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def load(name: str | Path) -> TrainPlan:
    """A plan by the name of a shipped one, or by its file. Raises BadPlan."""
    path = SHIPPED / f"{name}.toml" if str(name) in shipped() else Path(name)
    try:
        written = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadPlan(
            f"plan {name} can't be read: {error.strerror}; shipped are {', '.join(shipped())}"
        ) from error
    except ValueError as error:
        raise BadPlan(f"plan {path} is no TOML: {error}") from error
    return parse(written, str(path))


def parse(written: Mapping[str, Any], where: str) -> TrainPlan:
    """A plan from what its file says. Raises BadPlan with every fault."""
    try:
        return _ADAPTER.validate_json(json.dumps(written, default=str))
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'the plan'} = {one['input']!r}: {one['msg']}"
            for one in error.errors()
        )
        raise BadPlan(f"plan {where}: {faults}") from error


def toml(plan: TrainPlan) -> str:
    """The plan as TOML, every setting written out; `parse` makes the same plan of it."""
    top = {name: value for name, value in asdict(plan).items() if value is not None}
    tables = {name: value for name, value in top.items() if isinstance(value, dict)}
    lines = [_line(name, value) for name, value in top.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(_line(*one) for one in table.items() if one[1] is not None)]
    return "\n".join(lines) + "\n"


def differences(one: TrainPlan, other: TrainPlan) -> list[str]:
    """Settings that two plans don't share, each with both values."""
    flat = [_flat(asdict(plan)) for plan in (one, other)]
    keys = {key: None for plan in flat for key in plan}
    return [
        f"{key} was {flat[0].get(key)!r}, is {flat[1].get(key)!r}"
        for key in keys
        if flat[0].get(key) != flat[1].get(key)
    ]


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inside = isinstance(value, dict)
        found |= _flat(value, f"{above}{name}.") if inside else {above + name: value}
    return found


def _line(name: str, value: Any) -> str:
    return f"{name} = {json.dumps(value)}"
