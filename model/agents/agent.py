"""The interface that every agent implements."""

from collections.abc import Callable
from typing import Protocol

from model.agents.tools.toolbox import ToolContext
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import Issue


class Agent(Protocol):
    """An agent writes a patch for an issue. It reads and edits a tree and runs no code of it."""

    @property
    def name(self) -> str:
        """The agent's name in the catalogue."""
        ...

    def propose(
        self,
        issue: Issue,
        context: ToolContext,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = ...,
    ) -> Attempt:
        """Make one attempt to write a patch for an issue, on a private view of the tree.

        A failing engine ends the attempt with a stop reason; it raises nothing. `on_step` receives each
        finished step. An exception from `on_step` ends the attempt.
        """
        ...
