"""Messages between an agent's process and its parent, one JSON object a line (pure)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, get_args

from model import typed_json
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Step, Trajectory
from model.domain import Issue
from model.engines.pipe_engine import (
    CompletionQuestion,
    EngineFacts,
    PipeAnswer,
    TokenCountQuestion,
)


class BadMessage(ValueError):
    """A line from an agent's process or from its parent is not a valid message; the text says why."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt template that the operator chose. The agent's process cannot open its file."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The first message to an agent's process: the agent, its engine, the issue, the tree and one seed per attempt."""

    tree: str
    """Path of the source tree."""
    scratch: str
    """An empty folder for temporary files."""
    agent: str
    """Name in the catalogue of agents."""
    engine: EngineFacts
    issue: Issue
    seeds: tuple[int, ...]
    seconds: float
    """Time limit of each attempt."""
    guidance: Guidance | None = None
    repair_prompt: PromptFile | None = None
    """Prompt of Agentless Mini's repairs; None for the default."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Message that an agent's process has started."""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """Message that a step of an attempt is finished. `attempt` is the attempt's index, counted from 0."""

    attempt: int
    step: Step


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """Message that an attempt is finished, with its record and its duration in seconds."""

    trajectory: Trajectory
    seconds: float


@dataclass(frozen=True, slots=True)
class ProcessFailed:
    """Message that an agent's process failed and will send no more attempts."""

    why: str


AgentMessage = (
    Ready | TokenCountQuestion | CompletionQuestion | StepFinished | AttemptFinished | ProcessFailed
)
ParentMessage = AgentTask | PipeAnswer

_FROM_AGENT: Final = {kind.__name__: kind for kind in get_args(AgentMessage)}
_TO_AGENT: Final = {kind.__name__: kind for kind in get_args(ParentMessage)}


def encode_message(message: AgentMessage | ParentMessage) -> bytes:
    """Encode a message between an agent's process and its parent as one line of ASCII JSON."""
    return json.dumps([type(message).__name__, asdict(message)]).encode() + b"\n"


def parse_agent_message(raw: bytes) -> AgentMessage:
    """Parse one line from an agent's process, which may be hostile, as a message. Raises BadMessage."""
    message: AgentMessage = _parse(raw, _FROM_AGENT)
    return message


def parse_parent_message(raw: bytes) -> ParentMessage:
    """Parse one line from the parent of an agent's process as a message. Raises BadMessage."""
    message: ParentMessage = _parse(raw, _TO_AGENT)
    return message


def _parse(raw: bytes, kinds: Mapping[str, Any]) -> Any:
    try:
        name, values = json.loads(raw)
        return typed_json.read(kinds[name], values)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadMessage(f"{type(error).__name__}: {str(error)[:200]}") from error
