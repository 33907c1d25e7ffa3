"""Mini-SE is an agent that reads by name, edits and submits (R4P, section 4 and appendix B.2).

The conversation is linear: each reply and its results are appended, so the record is the prompt. Every exit raises
`AttemptEnded` with its reason. `MiniSE.propose` shows the whole loop.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from model.agents import engine_deadline
from model.agents.mini_se import tool_text
from model.agents.mini_se.tool_engine import ToolEngine
from model.agents.tools.toolbox import TOOLS, Observation, Submission, ToolContext, run_tool
from model.agents.trajectories import guidance as hints
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import (
    Attempt,
    AttemptEnded,
    AttemptLimits,
    Step,
    StopReason,
    Trajectory,
    build_conversation,
)
from model.domain import EngineInfo, Issue, Tokens
from model.errors import EngineError, EngineTimeout
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints
from model.prompts.untrusted import cut_middle, escape_issue, escape_special_tokens
from model.protocols import Completion, Engine, Message, Request, Tool, ToolCall

SPARE_TOKENS = 256
"""Reserve of the context for what a chat template adds to messages and tools."""
_LEAST_REPLY = 64
"""Tokens. Hardly any tool call fits into fewer."""
_MOST_CALLS = 8
"""Per reply. A model that calls more is repeating itself."""
_NO_CALL = "Nothing was done: this reply holds no tool call. Every reply ends with a call of one of"
_CUT_OFF = "Nothing was done: this reply was cut off before it called a tool. Think shorter, then call one of"
_TOO_MANY = Observation(f"Not done: one reply may hold {_MOST_CALLS} calls.", ok=False)
_HANDED_IN = Observation("The patch was handed in.")


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of an agent in this loop: its name, its prompt, its tools and the function that runs them."""

    name: str
    template: str
    tools: tuple[Tool, ...]
    run: Callable[[ToolCall, ToolContext], Observation | Submission]
    opening: tuple[Message, ...] = ()
    """Messages that open the conversation in place of the rendered prompt."""


PATCHING = Assignment("mini-se", "mini_se", TOOLS, run_tool)
"""Mini-SE's own work: it writes a patch."""


@dataclass(slots=True)
class _Conversation:
    """A running conversation."""

    opening: tuple[Message, ...]
    opening_tokens: int
    limits: AttemptLimits
    steps: list[Step] = field(default_factory=list)

    @property
    def room(self) -> int:
        """Tokens left for the next reply. It uses the engine's own counts where they exist."""
        used = self.opening_tokens
        for step in self.steps:
            used = (step.tokens.prompt or used) + step.tokens.completion + step.answer_tokens
        return self.limits.tokens - used

    @property
    def seconds_left(self) -> float:
        """Seconds from the last answer to the attempt's time limit."""
        return self.limits.seconds - (self.steps[-1].seconds if self.steps else 0.0)


class MiniSE:
    """Agent that works in a loop of tools. By default these are search, edit and submit, and it proposes patches."""

    name = PATCHING.name

    def __init__(
        self,
        engine: Engine,
        *,
        limits: AttemptLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        assignment: Assignment = PATCHING,
    ) -> None:
        self.name = assignment.name
        self._assignment = assignment
        self._engine = ToolEngine(engine)
        tokens = engine.context_tokens - SPARE_TOKENS
        self._limits = replace(
            limits or AttemptLimits(), tokens=min((limits or AttemptLimits()).tokens, tokens)
        )
        self._template = prompt_template.load(assignment.template)
        spoken = combine_fingerprints(
            self._template.fingerprint, fingerprint_wording(assignment.tools)
        )
        self._speaker = EngineInfo(self._engine.name, self._engine.model, spoken)
        self._clock = clock

    def propose(
        self,
        issue: Issue,
        context: ToolContext,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Attempt:
        """Make one attempt to write a patch for an issue, and return its record. Its edits stay in the workspace.

        A failing engine ends the attempt with the stop reason ENGINE or TIMEOUT. `guidance` is the hint of a second
        attempt. `on_step` receives each finished step; an exception from it ends the attempt without a record.
        """
        began = self._clock()
        conversation = self._start_conversation(issue, guidance)
        context = replace(
            context,
            page_characters=_get_answer_limit(conversation.limits) * 3 // 4,
            special_tokens=self._engine.special_tokens,
        )
        try:
            while True:
                _check_limits(conversation)
                completion = self._sample_reply(conversation, seed)
                results = _run_calls(completion, context, self._assignment.run)
                step = self._build_step(completion, results, conversation.limits, began)
                conversation.steps.append(step)
                on_step(step)
                _check_submission(results)
        except AttemptEnded as end:
            trajectory = Trajectory(
                agent=self.name,
                engine=self._speaker,
                issue=issue,
                tree=context.tree,
                seed=seed,
                limits=conversation.limits,
                tools=self._assignment.tools,
                opening=conversation.opening,
                opening_tokens=conversation.opening_tokens,
                steps=tuple(conversation.steps),
                stop=end.stop,
                patch=end.patch,
                failure=end.failure,
                guidance=guidance,
            )
            return Attempt(trajectory, self._measure_seconds(began))

    def _start_conversation(self, issue: Issue, guidance: Guidance | None) -> _Conversation:
        special = self._engine.special_tokens
        hint = escape_special_tokens(hints.render_hint(guidance), special) if guidance else ""
        opening = self._assignment.opening or self._template.render(
            issue=escape_issue(issue.text, special).text, hint=hint
        )
        shown = [*(message.content for message in opening), _dump_tools(self._assignment.tools)]
        tokens = self._engine.count_tokens("\n".join(shown))
        return _Conversation(opening, tokens, self._limits)

    def _sample_reply(self, conversation: _Conversation, seed: int) -> Completion:
        """Sample the next reply. Raises AttemptEnded when the engine fails or is late."""
        request = Request(
            build_conversation(conversation.opening, conversation.steps),
            max_tokens=min(conversation.limits.reply_tokens, conversation.room),
            temperature=conversation.limits.temperature,
            seed=100 * seed + len(conversation.steps),
            tools=self._assignment.tools,
            token_ids=True,
        )
        try:
            (answer,) = engine_deadline.complete_within(
                self._engine, [request], conversation.seconds_left
            )
        except EngineError as error:
            answer = error
        if isinstance(answer, EngineTimeout):
            raise AttemptEnded(StopReason.TIMEOUT, failure=str(answer))
        if isinstance(answer, EngineError):
            raise AttemptEnded(StopReason.ENGINE, failure=str(answer))
        return answer

    def _build_step(
        self,
        completion: Completion,
        done: list[tuple[ToolCall, Observation | Submission]],
        limits: AttemptLimits,
        began: float,
    ) -> Step:
        """Build the record of one reply with the results of its calls."""
        results = [_HANDED_IN if isinstance(answer, Submission) else answer for _, answer in done]
        most = _get_answer_limit(limits)
        names = f"{', '.join(tool.name for tool in self._assignment.tools)}."
        answers = tuple(
            Message("tool", _cut_middle(result.text, most), tool_call_id=call.id)
            for (call, _), result in zip(done, results, strict=True)
        ) or (Message("user", f"{_NO_CALL if completion.finished else _CUT_OFF} {names}"),)
        return Step(
            reply=Message("assistant", completion.text, tuple(call for call, _ in done)),
            answers=answers,
            tokens=Tokens(
                completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens
            ),
            answer_tokens=self._engine.count_tokens(
                "\n".join(answer.content for answer in answers)
            ),
            seconds=self._measure_seconds(began),
            token_ids=completion.token_ids,
            finished=completion.finished,
            malformed=all(result.malformed for result in results),
        )

    def _measure_seconds(self, began: float) -> float:
        return round(self._clock() - began, 3)


def _check_limits(conversation: _Conversation) -> None:
    """Raise AttemptEnded when a limit is reached."""
    steps, limits = conversation.steps, conversation.limits
    last = steps[-limits.malformed :]
    if len(last) == limits.malformed and all(step.malformed for step in last):
        raise AttemptEnded(StopReason.MALFORMED)
    if len(steps) >= limits.rounds:
        raise AttemptEnded(StopReason.ROUNDS)
    if conversation.room < _LEAST_REPLY:
        raise AttemptEnded(StopReason.TOKENS)
    if conversation.seconds_left <= 0:
        raise AttemptEnded(StopReason.TIMEOUT)


def _run_calls(
    completion: Completion,
    context: ToolContext,
    run: Callable[[ToolCall, ToolContext], Observation | Submission],
) -> list[tuple[ToolCall, Observation | Submission]]:
    """Run each call and return it with its result. A submission ends the list."""
    done: list[tuple[ToolCall, Observation | Submission]] = []
    for index, call in enumerate(completion.tool_calls):
        done.append((call, run(call, context) if index < _MOST_CALLS else _TOO_MANY))
        if isinstance(done[-1][1], Submission):
            break
    return done


def _check_submission(done: list[tuple[ToolCall, Observation | Submission]]) -> None:
    """Raise AttemptEnded when a call submitted a patch."""
    for _, result in done:
        if isinstance(result, Submission):
            raise AttemptEnded(StopReason.SUBMITTED, patch=result.diff)


def _get_answer_limit(limits: AttemptLimits) -> int:
    """Return the longest result in characters, about a quarter of a small context. Pages take three quarters of it."""
    return min(limits.answer_characters, limits.tokens)


def _cut_middle(text: str, most: int) -> str:
    head = 2 * most // 3
    return cut_middle(text, head, most - head)


def fingerprint_wording(tools: Sequence[Tool]) -> str:
    """Return a fingerprint (12 hex digits) of every text that tells the model about `tools`."""
    texts = [_dump_tools(tools), tool_text.describe_tools(tools), _NO_CALL, _CUT_OFF]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def _dump_tools(tools: Sequence[Tool]) -> str:
    return json.dumps([asdict(tool) for tool in tools])
