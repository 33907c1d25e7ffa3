"""How an attempt ends, and the record of it: made here for every agent (pure)."""

from dataclasses import dataclass

from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Limits, Step, Stop, Trajectory
from model.domain import EngineInfo, Issue
from model.protocols import Message, Tool


class Ended(Exception):
    """The attempt is over, and why."""

    def __init__(self, stop: Stop, *, patch: str | None = None, failure: str | None = None) -> None:
        super().__init__(stop)
        self.stop, self.patch, self.failure = stop, patch, failure


@dataclass(frozen=True, slots=True)
class Brief:
    """What one attempt is about, and who makes it."""

    agent: str
    engine: EngineInfo
    issue: Issue
    tree: str
    """The desk's."""
    seed: int
    guidance: Guidance | None


@dataclass(frozen=True, slots=True)
class Course:
    """How it went."""

    limits: Limits
    steps: tuple[Step, ...]
    seconds: float
    tools: tuple[Tool, ...] = ()
    opening: tuple[Message, ...] = ()
    opening_tokens: int = 0
    setting: str = ""


def attempt(brief: Brief, course: Course, end: Ended) -> Attempt:
    """What an agent hands back."""
    trajectory = Trajectory(
        agent=brief.agent,
        engine=brief.engine,
        issue=brief.issue,
        tree=brief.tree,
        seed=brief.seed,
        limits=course.limits,
        tools=course.tools,
        opening=course.opening,
        opening_tokens=course.opening_tokens,
        steps=course.steps,
        stop=end.stop,
        patch=end.patch,
        failure=end.failure,
        guidance=brief.guidance,
        setting=course.setting,
    )
    return Attempt(trajectory, course.seconds)
