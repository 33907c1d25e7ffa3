"""An agent that reads the code of an issue and hands in its rubric (Agentic Rubrics, arXiv 2601.04171, section 3).

It has Mini-SE's loop and search tool, and nothing to edit with. It sees no patch.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from model.agents.mini_se.mini_se import Assignment, MiniSE, fingerprint_wording
from model.agents.tools import search_tool
from model.agents.tools.tool_arguments import BadCall, parse_arguments
from model.agents.tools.toolbox import Observation, Submission, ToolContext, run_tool
from model.agents.trajectories.trajectory import AttemptLimits, StopReason, Trajectory
from model.domain import Issue
from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints
from model.protocols import Completion, Engine, Request, Tool, ToolCall
from model.verifiers.reports.rubric_source import Complete, RubricSource
from model.voting.rubric import Rubric, read_lines

NAME: Final = "rubric-writer"
"""The name in the catalogue of agents, which imports this module at its first use."""
ISSUE_AND_CODE: Final = "the issue and the code"
LIMITS: Final = AttemptLimits(rounds=16, reply_tokens=2_048, seconds=600.0, temperature=0.0)
"""A rubric needs less reading than a patch. The same issue and code shall give the same rubric."""

SUBMIT: Final = Tool(
    name="submit_checklist",
    description="Hand in the checklist; the conversation is over. Call it once, when the code that matters is read.",
    parameters={
        "type": "object",
        "properties": {
            "lines": {
                "type": "array",
                "items": {"type": "object"},
                "description": (
                    'List of 4 to 10 objects, each like {"kind": "specification", "weight": 3, "text": "One condition."}'
                ),
            }
        },
        "required": ["lines"],
    },
)
TOOLS: Final = (search_tool.TOOL, SUBMIT)


def run_reading_tool(call: ToolCall, context: ToolContext) -> Observation | Submission:
    """Run a call of the search tool, or check a checklist that is handed in. No content of the call makes it raise."""
    if call.name == search_tool.TOOL.name:
        return run_tool(call, context)
    try:
        arguments = parse_arguments(call, TOOLS)
    except BadCall as error:
        return Observation(str(error), ok=False, malformed=True)
    if _parse_lines(arguments["lines"]):
        return Submission(None)
    return Observation(
        'No line is valid: each has "kind" (specification, file_change, integrity or runtime), "weight" (1 to 3) and '
        '"text" (one sentence).',
        ok=False,
        malformed=True,
    )


ASSIGNMENT: Final = Assignment(NAME, "rubric_agent", TOOLS, run_reading_tool)


def read_rubric(trajectory: Trajectory) -> Rubric | None:
    """Return the rubric that an attempt handed in; None without a valid line.

    The trajectory may come from another process, so each line is checked again.
    """
    if trajectory.stop is not StopReason.SUBMITTED or not trajectory.steps:
        return None
    calls = [call for call in trajectory.steps[-1].reply.tool_calls if call.name == SUBMIT.name]
    lines = read_lines(calls[-1].arguments) if calls else ()
    return Rubric(lines, ISSUE_AND_CODE) if lines else None


class CountedEngine:
    """An engine that completes through another function, so that the verdict counts what an agent costs."""

    def __init__(self, engine: Engine, complete: Complete) -> None:
        self._engine, self._complete = engine, complete
        self.name, self.model = engine.name, engine.model
        self.context_tokens, self.special_tokens = engine.context_tokens, engine.special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the engine's number of tokens in `text`."""
        return self._engine.count_tokens(text)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one answer per request, in order. Raises what the function raises."""
        return self._complete(list(requests))

    def close(self) -> None:
        """Do nothing, because the engine belongs to the verifier."""


def build_tree_source(
    engine: Engine, open_context: Callable[[], AbstractContextManager[ToolContext]]
) -> RubricSource:
    """Build the source whose agent reads the tree of `open_context`. It writes nothing if the agent hands nothing in."""

    def write(issue: Issue, complete: Complete) -> Rubric | None:
        with open_context() as context:
            agent = build_writer(CountedEngine(engine, complete))
            return read_rubric(agent.propose(issue, context, seed=0).trajectory)

    return RubricSource(fingerprint_prompt(), write)


def build_writer(engine: Engine, seconds: float = LIMITS.seconds) -> MiniSE:
    """Build the agent that writes rubrics, with at most `seconds` for one."""
    limits = replace(LIMITS, seconds=min(LIMITS.seconds, seconds))
    return MiniSE(engine, limits=limits, assignment=ASSIGNMENT)


def fingerprint_prompt() -> str:
    """Return the fingerprint of the agent's prompt and tools."""
    template = prompt_template.load(ASSIGNMENT.template)
    return combine_fingerprints(template.fingerprint, fingerprint_wording(TOOLS))


def _parse_lines(lines: Sequence[object]) -> bool:
    return bool(read_lines(json.dumps({"lines": lines})))
