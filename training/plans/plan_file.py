"""Read and write plans as TOML files, the shipped ones and your own."""

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


def list_shipped_plans() -> tuple[str, ...]:
    """Return the names of the shipped training plans, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def load_plan(name: str | Path) -> TrainPlan:
    """Load a shipped training plan by its name, or a plan from the file at the path `name`.

    Raises BadPlan if the file cannot be read or is no valid plan.
    """
    path = SHIPPED / f"{name}.toml" if str(name) in list_shipped_plans() else Path(name)
    try:
        written = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadPlan(
            f"plan {name} can't be read: {error.strerror}; shipped are {', '.join(list_shipped_plans())}"
        ) from error
    except ValueError as error:
        raise BadPlan(f"plan {path} is no TOML: {error}") from error
    return parse_plan(written, str(path))


def parse_plan(written: Mapping[str, Any], where: str) -> TrainPlan:
    """Build a plan from `written`, its parsed TOML. Raises BadPlan with every fault, and `where` as the file's name."""
    try:
        return _ADAPTER.validate_json(json.dumps(written, default=str))
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the plan'} = {fault['input']!r}: {fault['msg']}"
            for fault in error.errors()
        )
        raise BadPlan(f"plan {where}: {faults}") from error


def to_toml(plan: TrainPlan) -> str:
    """Return the plan as TOML text with every setting that is not None. `parse_plan` restores the same plan."""
    top = {name: value for name, value in asdict(plan).items() if value is not None}
    tables = {name: value for name, value in top.items() if isinstance(value, dict)}
    lines = [_format_line(name, value) for name, value in top.items() if name not in tables]
    for name, table in tables.items():
        lines += [
            "",
            f"[{name}]",
            *(_format_line(*setting) for setting in table.items() if setting[1] is not None),
        ]
    return "\n".join(lines) + "\n"


def list_differences(before: TrainPlan, after: TrainPlan) -> list[str]:
    """Return a text for each setting that differs between two plans, such as `seed was 0, is 1`."""
    flat = [_flatten(asdict(plan)) for plan in (before, after)]
    keys = {key: None for plan in flat for key in plan}
    return [
        f"{key} was {flat[0].get(key)!r}, is {flat[1].get(key)!r}"
        for key in keys
        if flat[0].get(key) != flat[1].get(key)
    ]


def _flatten(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inside = isinstance(value, dict)
        flat |= _flatten(value, f"{above}{name}.") if inside else {above + name: value}
    return flat


def _format_line(name: str, value: Any) -> str:
    return f"{name} = {json.dumps(value)}"
