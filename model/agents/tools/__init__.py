"""Mini-SE's three tools (R4P, appendix B.2), in our words: search, edit, submit. Nothing of the tree is run."""

from typing import Final

from model.agents.tools.desk import Desk, Observation, Submission
from model.protocols import Tool, ToolCall

__all__ = ["TOOLS", "Desk", "Observation", "Submission", "run"]

TOOLS: Final[tuple[Tool, ...]] = ()


def run(call: ToolCall, desk: Desk) -> Observation | Submission:
    """Do what the model asks, or say what is wrong with how it asks; whatever the call holds, nothing is raised."""
    raise NotImplementedError
