"""Mini-SE's three tools: search, edit and submit (R4P, appendix B.2; own wording). No tool runs code of the tree."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from model.agents.tools import edit_tool, search_tool
from model.agents.tools.tool_arguments import BadCall, parse_arguments
from model.agents.tools.tool_context import Observation, Submission, ToolContext
from model.errors import WorkspaceError
from model.prompts.untrusted import escape_patch
from model.protocols import Tool, ToolCall

__all__ = ["TOOLS", "Observation", "Submission", "ToolContext", "run_tool"]

SUBMISSION: Final = Tool(
    name="patch_submission",
    description=(
        "Hand in the work: all edits so far become one patch, and the conversation is over. "
        "Call it when the issue is resolved. Without any edit there is nothing to hand in."
    ),
    parameters={"type": "object", "properties": {}, "required": []},
)

TOOLS: Final[tuple[Tool, ...]] = (search_tool.TOOL, edit_tool.TOOL, SUBMISSION)


def submit(context: ToolContext) -> Observation | Submission:
    """Return the diff of all edits as the agent's patch, or an observation when nothing was edited.

    Raises WorkspaceError when git fails.
    """
    if diff := context.workspace.diff():
        return Submission(diff)
    return Observation(
        "Nothing was handed in: no file differs from what it was. Change the code with edit_tool first.",
        ok=False,
    )


_DOES: Final[Mapping[str, Callable[..., Observation | Submission]]] = {
    search_tool.TOOL.name: search_tool.search,
    edit_tool.TOOL.name: edit_tool.edit,
    SUBMISSION.name: submit,
}


def run_tool(call: ToolCall, context: ToolContext) -> Observation | Submission:
    """Run a model's tool call and return its result, or an observation that says what is wrong with the call.

    No content of the call makes it raise. The result is escaped for the model, and escapes in the call are reverted.
    """
    try:
        arguments = parse_arguments(call, TOOLS)
        answer = _DOES[call.name](context, **arguments)
    except BadCall as error:
        answer = Observation(str(error), ok=False, malformed=True)
    except WorkspaceError as error:
        answer = Observation(str(error), ok=False)
    if isinstance(answer, Submission):
        return answer
    return replace(answer, text=escape_patch(answer.text, context.special_tokens).text)
