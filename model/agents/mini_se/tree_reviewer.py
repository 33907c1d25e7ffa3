"""An engine that reads the code before it reviews: each request becomes a conversation with the search tool.

The verifier `review` asks it in place of the model itself, as SWE-Review (arXiv 2607.06065) lets a judge explore the
checkout. SWE-Review's own weights learnt a shell and an editor that run tests; here nothing runs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import replace
from typing import Final

from model.agents.mini_se.mini_se import Assignment, MiniSE
from model.agents.tools import search_tool
from model.agents.tools.tool_arguments import BadCall, parse_arguments
from model.agents.tools.toolbox import Observation, Submission, ToolContext, run_tool
from model.agents.trajectories.trajectory import Attempt, AttemptLimits, StopReason
from model.domain import Issue
from model.errors import EngineDown, EngineError
from model.prompts.special_tokens import SpecialTokens
from model.protocols import Completion, Engine, Request, Tool, ToolCall

NAME: Final = "tree-reviewer"
LIMITS: Final = AttemptLimits(rounds=24, seconds=900.0)
_SIDE_BY_SIDE: Final = 4
_MOST_TOKENS: Final = 100_000
"""Longest conversation. SWE-Review's own script serves a context of 131,072 tokens."""

SUBMIT: Final = Tool(
    name="submit_review",
    description="Hand in the review; the conversation is over. Call it once, when the code that matters is read.",
    parameters={
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": ["approve", "request_changes"]},
            "summary": {
                "type": "string",
                "description": "The decision with its reason, in a few sentences.",
            },
        },
        "required": ["decision", "summary"],
    },
)
TOOLS: Final = (search_tool.TOOL, SUBMIT)


def run_review_tool(call: ToolCall, context: ToolContext) -> Observation | Submission:
    """Run a call of the search tool, or check a review that is handed in. No content of the call makes it raise."""
    if call.name == search_tool.TOOL.name:
        return run_tool(call, context)
    try:
        parse_arguments(call, TOOLS)
    except BadCall as error:
        return Observation(str(error), ok=False, malformed=True)
    return Submission(None)


class TreeReviewer:
    """Engine that answers each request with the review of an agent, which reads the tree by name first."""

    def __init__(
        self, engine: Engine, open_context: Callable[[], AbstractContextManager[ToolContext]]
    ) -> None:
        """Wrap `engine`, which must be able to write. `open_context` opens the tree for one conversation."""
        self._engine = engine
        self._open_context = open_context

    @property
    def name(self) -> str:
        """The wrapped engine's name."""
        return self._engine.name

    @property
    def model(self) -> str:
        """The wrapped engine's model."""
        return self._engine.model

    @property
    def context_tokens(self) -> int:
        """A third of the wrapped engine's context: the rest is for what the tools show."""
        return self._engine.context_tokens // 3

    @property
    def special_tokens(self) -> SpecialTokens:
        """The wrapped engine's special tokens."""
        return self._engine.special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as the wrapped engine counts."""
        return self._engine.count_tokens(text)

    def close(self) -> None:
        """Close the wrapped engine."""
        self._engine.close()

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one review per request, in order, as JSON. A conversation without a review gives its last reply.

        Raises EngineDown when the wrapped engine answered no conversation at all.
        """
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            calls = [(copy_context(), request) for request in requests]
            attempts = list(pool.map(lambda call: call[0].run(self._review, call[1]), calls))
        if attempts and all(_is_unanswered(attempt) for attempt in attempts):
            raise EngineDown(attempts[0].trajectory.failure)
        return [_build_answer(attempt) for attempt in attempts]

    def _review(self, request: Request) -> Attempt:
        assignment = Assignment(NAME, "review_tools", TOOLS, run_review_tool, request.messages)
        tokens = min(_MOST_TOKENS, self._engine.context_tokens)
        limits = replace(LIMITS, tokens=tokens, temperature=request.temperature)
        with self._open_context() as context:
            agent = MiniSE(self._engine, limits=limits, assignment=assignment)
            return agent.propose(Issue("", ""), context, seed=request.seed % 2**24)


def _is_unanswered(attempt: Attempt) -> bool:
    return attempt.stop is StopReason.ENGINE and not attempt.trajectory.steps


def _build_answer(attempt: Attempt) -> Completion | EngineError:
    if attempt.stop in (StopReason.ENGINE, StopReason.TIMEOUT):
        return EngineError(attempt.trajectory.failure or "the review ran out of time")
    used = attempt.tokens
    return Completion(_read_text(attempt), True, used.prompt, used.cached, used.completion)


def _read_text(attempt: Attempt) -> str:
    """Return the review that was handed in, else the last reply, which may hold one."""
    steps = attempt.trajectory.steps
    if not steps:
        return ""
    calls = [call.arguments for call in steps[-1].reply.tool_calls if call.name == SUBMIT.name]
    return calls[-1] if calls else steps[-1].reply.content
