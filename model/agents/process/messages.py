"""What an agent in a process of its own and the process that started it tell each other, a JSON object a line (pure)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from model import typed_json
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Step, Trajectory
from model.domain import Issue
from model.engines.pipe_engine import Answer, Complete, Count, Facts


class BadMessage(ValueError):
    """A line that is none of the messages that may come; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """The first thing an agent's process is told: what to do."""

    tree: str
    scratch: str
    """An empty folder for whatever has to lie on a disk meanwhile."""
    agent: str
    engine: Facts
    issue: Issue
    seeds: tuple[int, ...]
    seconds: float
    guidance: Guidance | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has started."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """A step of the attempt at this place is over."""

    attempt: int
    step: Step


@dataclass(frozen=True, slots=True)
class Finished:
    """An attempt is over."""

    trajectory: Trajectory
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """There will be no more attempts."""

    why: str


FromAgent = Ready | Count | Complete | Stepped | Finished | Failed
ToAgent = Task | Answer

_FROM_AGENT: Final[Mapping[str, type[FromAgent]]] = {
    one.__name__: one for one in (Ready, Count, Complete, Stepped, Finished, Failed)
}
_TO_AGENT: Final[Mapping[str, type[ToAgent]]] = {one.__name__: one for one in (Task, Answer)}


def line(message: FromAgent | ToAgent) -> bytes:
    """A message as it travels: ASCII, ended by a line end."""
    return json.dumps([type(message).__name__, asdict(message)]).encode() + b"\n"


def from_agent(raw: bytes) -> FromAgent:
    """What an agent's process said, which may be anything. Raises BadMessage."""
    message: FromAgent = _read(raw, _FROM_AGENT)
    return message


def to_agent(raw: bytes) -> ToAgent:
    """What an agent's process is told. Raises BadMessage."""
    message: ToAgent = _read(raw, _TO_AGENT)
    return message


def _read(raw: bytes, kinds: Mapping[str, Any]) -> Any:
    try:
        name, values = json.loads(raw)
        return typed_json.read(kinds[name], values)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadMessage(f"{type(error).__name__}: {str(error)[:200]}") from error
