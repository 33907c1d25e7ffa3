"""Mini-SE's three tools (R4P, appendix B.2), in our words: search, edit, submit. Nothing of the tree is run."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from model.agents.tools import edit_tool, patch_submission, search_tool
from model.agents.tools.tool_arguments import BadCall, arguments_of
from model.agents.tools.tool_context import Desk, Observation, Submission
from model.errors import WorkspaceError
from model.prompts.untrusted import safe_patch
from model.protocols import Tool, ToolCall

__all__ = ["TOOLS", "Desk", "Observation", "Submission", "run"]

TOOLS: Final[tuple[Tool, ...]] = (search_tool.TOOL, edit_tool.TOOL, patch_submission.TOOL)

_DOES: Final[Mapping[str, Callable[..., Observation | Submission]]] = {
    search_tool.TOOL.name: search_tool.search,
    edit_tool.TOOL.name: edit_tool.edit,
    patch_submission.TOOL.name: patch_submission.submit,
}


def run(call: ToolCall, desk: Desk) -> Observation | Submission:
    """Do what the model asks, or say what is wrong with how it asks; whatever the call holds, nothing is raised.

    The model is shown stranger's text escaped, and what it copies from there is turned back.
    """
    try:
        arguments = arguments_of(call, TOOLS)
        answer = _DOES[call.name](desk, **arguments)
    except BadCall as error:
        answer = Observation(str(error), ok=False, malformed=True)
    except WorkspaceError as error:
        answer = Observation(str(error), ok=False)
    if isinstance(answer, Submission):
        return answer
    return replace(answer, text=safe_patch(answer.text).text)
