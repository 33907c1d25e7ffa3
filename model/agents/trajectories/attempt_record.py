"""Build the record of a finished attempt, the same way for every agent (pure)."""

from dataclasses import dataclass

from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import (
    Attempt,
    AttemptLimits,
    Step,
    StopReason,
    Trajectory,
)
from model.domain import EngineInfo, Issue
from model.protocols import Message, Tool


class AttemptEnded(Exception):
    """Raised to end an attempt; it carries the stop reason and perhaps a patch or a failure."""

    def __init__(
        self, stop: StopReason, *, patch: str | None = None, failure: str | None = None
    ) -> None:
        super().__init__(stop)
        self.stop, self.patch, self.failure = stop, patch, failure


@dataclass(frozen=True, slots=True)
class AttemptInput:
    """The inputs of one attempt: issue, tree, seed and hint, with the agent and its engine."""

    agent: str
    engine: EngineInfo
    issue: Issue
    tree: str
    """Digest of the tree, from the tool context."""
    seed: int
    guidance: Guidance | None


@dataclass(frozen=True, slots=True)
class AttemptProgress:
    """What one attempt received and did until its end: limits, tools, opening messages, steps and seconds."""

    limits: AttemptLimits
    steps: tuple[Step, ...]
    seconds: float
    tools: tuple[Tool, ...] = ()
    opening: tuple[Message, ...] = ()
    opening_tokens: int = 0
    setting: str = ""


def build_attempt(
    attempt_input: AttemptInput, progress: AttemptProgress, end: AttemptEnded
) -> Attempt:
    """Build the record of a finished attempt from its input, its progress and its end."""
    trajectory = Trajectory(
        agent=attempt_input.agent,
        engine=attempt_input.engine,
        issue=attempt_input.issue,
        tree=attempt_input.tree,
        seed=attempt_input.seed,
        limits=progress.limits,
        tools=progress.tools,
        opening=progress.opening,
        opening_tokens=progress.opening_tokens,
        steps=progress.steps,
        stop=end.stop,
        patch=end.patch,
        failure=end.failure,
        guidance=attempt_input.guidance,
        setting=progress.setting,
    )
    return Attempt(trajectory, progress.seconds)
