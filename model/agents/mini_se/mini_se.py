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
from model.agents.trajectories import attempt_record
from model.agents.trajectories import guidance as hints
from model.agents.trajectories.attempt_record import AttemptEnded, AttemptInput, AttemptProgress
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import (
    Attempt,
    AttemptLimits,
    Step,
    StopReason,
    build_conversation,
)
from model.domain import EngineInfo, Issue, Tokens
from model.errors import EngineError, EngineTimeout
from model.prompts import prompt_template
from model.prompts.truncation import cut_middle
from model.prompts.untrusted import escape_issue
from model.protocols import Completion, Engine, Message, Request, Tool, ToolCall
from model.verifiers.prompt_builder import combine_fingerprints

SPARE_TOKENS = 256
"""Reserve of the context for what a chat template adds to messages and tools."""
_LEAST_REPLY = 64
"""Tokens. Hardly any tool call fits into fewer."""
_MOST_CALLS = 8
"""Per reply. A model that calls more is repeating itself."""
_NO_CALL = "Nothing was done: this reply holds no tool call. Every reply ends with a call of one of"
_CUT_OFF = "Nothing was done: this reply was cut off before it called a tool. Think shorter, then call one of"
_NAMES = f"{', '.join(one.name for one in TOOLS)}."
_TOO_MANY = Observation(f"Not done: one reply may hold {_MOST_CALLS} calls.", ok=False)
_HANDED_IN = Observation("The patch was handed in.")


@dataclass(slots=True)
class _Talk:
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
        """Seconds left, counted at the last answer."""
        return self.limits.seconds - (self.steps[-1].seconds if self.steps else 0.0)


class MiniSE:
    """Agent that proposes patches in a loop of three tools: search, edit and submit."""

    name = "mini-se"

    def __init__(
        self,
        engine: Engine,
        *,
        limits: AttemptLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = ToolEngine(engine)
        tokens = engine.context_tokens - SPARE_TOKENS
        self._limits = replace(
            limits or AttemptLimits(), tokens=min((limits or AttemptLimits()).tokens, tokens)
        )
        self._template = prompt_template.load("mini_se")
        spoken = combine_fingerprints(self._template.fingerprint, fingerprint_wording(TOOLS))
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
        """Make one attempt. A failing engine ends it with a stop reason.

        An exception from `on_step` ends the attempt without a record.
        """
        began = self._clock()
        brief = AttemptInput(self.name, self._speaker, issue, context.tree, seed, guidance)
        talk = self._opened(issue, guidance)
        context = replace(context, page_characters=_longest_answer(talk.limits) * 3 // 4)
        try:
            while True:
                _require_leave(talk)
                said = self._reply(talk, seed)
                done = _carried_out(said, context)
                step = self._step(said, done, talk.limits, began)
                talk.steps.append(step)
                on_step(step)
                _require_more(done)
        except AttemptEnded as end:
            course = AttemptProgress(
                limits=talk.limits,
                steps=tuple(talk.steps),
                seconds=self._since(began),
                tools=TOOLS,
                opening=talk.opening,
                opening_tokens=talk.opening_tokens,
            )
            return attempt_record.build_attempt(brief, course, end)

    def _opened(self, issue: Issue, guidance: Guidance | None) -> _Talk:
        hint = hints.render_hint(guidance) if guidance else ""
        opening = self._template.render(issue=escape_issue(issue.text).text, hint=hint)
        shown = [*(one.content for one in opening), _offered(TOOLS)]
        tokens = self._engine.count_tokens("\n".join(shown))
        return _Talk(opening, tokens, self._limits)

    def _reply(self, talk: _Talk, seed: int) -> Completion:
        """Sample the next reply. Raises AttemptEnded when the engine fails or is late."""
        request = Request(
            build_conversation(talk.opening, talk.steps),
            max_tokens=min(talk.limits.reply_tokens, talk.room),
            temperature=talk.limits.temperature,
            seed=100 * seed + len(talk.steps),
            tools=TOOLS,
            token_ids=True,
        )
        try:
            (answer,) = engine_deadline.complete_within(self._engine, [request], talk.seconds_left)
        except EngineError as error:
            answer = error
        if isinstance(answer, EngineTimeout):
            raise AttemptEnded(StopReason.TIMEOUT, failure=str(answer))
        if isinstance(answer, EngineError):
            raise AttemptEnded(StopReason.ENGINE, failure=str(answer))
        return answer

    def _step(
        self,
        said: Completion,
        done: list[tuple[ToolCall, Observation | Submission]],
        limits: AttemptLimits,
        began: float,
    ) -> Step:
        """Build the record of one reply with the results of its calls."""
        results = [_HANDED_IN if isinstance(one, Submission) else one for _, one in done]
        most = _longest_answer(limits)
        answers = tuple(
            Message("tool", _capped(result.text, most), tool_call_id=call.id)
            for (call, _), result in zip(done, results, strict=True)
        ) or (Message("user", f"{_NO_CALL if said.finished else _CUT_OFF} {_NAMES}"),)
        return Step(
            reply=Message("assistant", said.text, tuple(call for call, _ in done)),
            answers=answers,
            tokens=Tokens(said.prompt_tokens, said.cached_tokens, said.completion_tokens),
            answer_tokens=self._engine.count_tokens("\n".join(one.content for one in answers)),
            seconds=self._since(began),
            token_ids=said.token_ids,
            finished=said.finished,
            malformed=all(result.malformed for result in results),
        )

    def _since(self, began: float) -> float:
        return round(self._clock() - began, 3)


def _require_leave(talk: _Talk) -> None:
    """Raise AttemptEnded when a limit is reached."""
    steps, limits = talk.steps, talk.limits
    last = steps[-limits.malformed :]
    if len(last) == limits.malformed and all(step.malformed for step in last):
        raise AttemptEnded(StopReason.MALFORMED)
    if len(steps) >= limits.rounds:
        raise AttemptEnded(StopReason.ROUNDS)
    if talk.room < _LEAST_REPLY:
        raise AttemptEnded(StopReason.TOKENS)
    if talk.seconds_left <= 0:
        raise AttemptEnded(StopReason.TIMEOUT)


def _carried_out(
    said: Completion, context: ToolContext
) -> list[tuple[ToolCall, Observation | Submission]]:
    """Run each call and return it with its result. A submission ends the list."""
    done: list[tuple[ToolCall, Observation | Submission]] = []
    for at, call in enumerate(said.tool_calls):
        done.append((call, run_tool(call, context) if at < _MOST_CALLS else _TOO_MANY))
        if isinstance(done[-1][1], Submission):
            break
    return done


def _require_more(done: list[tuple[ToolCall, Observation | Submission]]) -> None:
    """Raise AttemptEnded when a call submitted a patch."""
    for _, result in done:
        if isinstance(result, Submission):
            raise AttemptEnded(StopReason.SUBMITTED, patch=result.diff)


def _longest_answer(limits: AttemptLimits) -> int:
    """Return the longest result in characters, about a quarter of a small context. Pages take three quarters of it."""
    return min(limits.answer_characters, limits.tokens)


def _capped(text: str, most: int) -> str:
    head = 2 * most // 3
    return cut_middle(text, head, most - head)


def fingerprint_wording(tools: Sequence[Tool]) -> str:
    """Return a fingerprint (12 hex digits) of every text that tells the model about its tools."""
    told = [_offered(tools), tool_text.describe_tools(tools), _NO_CALL, _CUT_OFF]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]


def _offered(tools: Sequence[Tool]) -> str:
    return json.dumps([asdict(tool) for tool in tools])
