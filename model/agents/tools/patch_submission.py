"""`patch_submission`: the work is done, and its diff is handed in."""

from typing import Final

from model.agents.tools.tool_context import Desk, Observation, Submission
from model.protocols import Tool

TOOL: Final = Tool(
    name="patch_submission",
    description=(
        "Hand in the work: all edits so far become one patch, and the conversation is over. "
        "Call it when the issue is resolved. Without any edit there is nothing to hand in."
    ),
    parameters={"type": "object", "properties": {}, "required": []},
)


def submit(desk: Desk) -> Observation | Submission:
    """The diff of all edits; an empty one is refused. Raises WorkspaceError when git can't write it."""
    if diff := desk.workspace.diff():
        return Submission(diff)
    return Observation(
        "Nothing was handed in: no file differs from what it was. Change the code with edit_tool first.",
        ok=False,
    )
