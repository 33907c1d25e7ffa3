"""Runs an agent in a process of its own, which holds no secret and reaches nothing but us; we ask the model for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.sandbox import Sandbox
from model.agents.guidance import Guidance
from model.agents.trajectory import Attempt, Step
from model.domain import Issue
from model.protocols import Engine


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one call may cost, all attempts together."""

    seconds: float = 1_800.0
    """After them attempts end themselves, between two replies."""
    grace_seconds: float = 120.0
    """For the reply under way; then the process is killed."""
    tokens: int = 4_000_000
    """Read and sampled, as the engine counts; beyond them the engine is down."""


class AgentFailed(Exception):
    """The agent's process died, said nonsense, or took too much. `finished`: attempts that were over by then."""

    def __init__(self, reason: str, finished: tuple[Attempt, ...] = ()) -> None:
        super().__init__(reason)
        self.finished = finished


def run(  # noqa: PLR0913 - what an attempt is about, and what it may cost
    tree: Path,
    issue: Issue,
    *,
    agent: str,
    engine: Engine,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    limits: AgentLimits = AgentLimits(),
    on_step: Callable[[int, Step], None] = lambda _attempt, _step: None,
    sandbox: Sandbox = Sandbox.BUBBLEWRAP,
) -> tuple[Attempt, ...]:
    """One attempt for each seed, in their order, on a tree that is only read. Blocks; use it from a thread that stays.

    `on_step` is told the attempt's place and its step, on the caller's thread; what it raises kills the process.
    Raises AgentFailed and UnknownAgent.
    """
    raise NotImplementedError
