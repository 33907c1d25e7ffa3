"""`patch_submission` hands in the diff of all edits."""

from typing import Final

from model.agents.tools.tool_context import Observation, Submission, ToolContext
from model.protocols import Tool

SUBMISSION: Final = Tool(
    name="patch_submission",
    description=(
        "Hand in the work: all edits so far become one patch, and the conversation is over. "
        "Call it when the issue is resolved. Without any edit there is nothing to hand in."
    ),
    parameters={"type": "object", "properties": {}, "required": []},
)


def submit(context: ToolContext) -> Observation | Submission:
    """Return the diff of all edits, or refuse an empty one. Raises WorkspaceError when git fails."""
    if diff := context.workspace.diff():
        return Submission(diff)
    return Observation(
        "Nothing was handed in: no file differs from what it was. Change the code with edit_tool first.",
        ok=False,
    )
