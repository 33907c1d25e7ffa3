"""The seam of this package: what an agent must offer."""

from collections.abc import Callable
from typing import Protocol

from model.agents.tools.toolbox import Desk
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import Issue


class Agent(Protocol):
    """Writes a patch for an issue, execution-free: it reads and edits a tree, and runs nothing of it."""

    @property
    def name(self) -> str:
        """The catalogue's word for this agent."""
        ...

    def propose(
        self,
        issue: Issue,
        desk: Desk,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = ...,
    ) -> Attempt:
        """One attempt on the desk's own copy of the tree. A failing engine is a stop, never an exception.

        `on_step` is told of each step when it is over; what it raises ends the attempt.
        """
        ...
