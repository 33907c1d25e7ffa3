"""Mini-SE: read by name, edit, submit; nothing is run (R4P, section 4 and appendix B.2). The whole loop is below.

The conversation is linear: each reply and what it was told is appended, so the record is the prompt. Every way out
is a `record.Ended` with its reason.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from model.agents import engine_deadline
from model.agents.mini_se import tool_text
from model.agents.mini_se.tool_engine import WithTools
from model.agents.tools.toolbox import TOOLS, Desk, Observation, Submission, run
from model.agents.trajectories import attempt_record
from model.agents.trajectories import guidance as hints
from model.agents.trajectories.attempt_record import Brief, Course, Ended
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Limits, Step, Stop, conversation
from model.domain import EngineInfo, Issue, Tokens
from model.errors import EngineError, TimedOut
from model.prompts import prompt_template
from model.prompts.truncation import without_middle
from model.prompts.untrusted import safe_issue
from model.protocols import Completion, Engine, Message, Request, Tool, ToolCall
from model.verifiers.prompt_builder import mixed_fingerprint

SPARE_TOKENS = 256
"""Of the context, for what a chat template adds to messages and tools."""
_LEAST_REPLY = 64
"""Tokens; hardly a call fits into fewer."""
_MOST_CALLS = 8
"""In one reply; more is a model that goes round in circles."""
_NO_CALL = "Nothing was done: this reply holds no tool call. Every reply ends with a call of one of"
_CUT_OFF = "Nothing was done: this reply was cut off before it called a tool. Think shorter, then call one of"
_NAMES = f"{', '.join(one.name for one in TOOLS)}."
_TOO_MANY = Observation(f"Not done: one reply may hold {_MOST_CALLS} calls.", ok=False)
_HANDED_IN = Observation("The patch was handed in.")


@dataclass(slots=True)
class _Talk:
    """A conversation under way."""

    opening: tuple[Message, ...]
    opening_tokens: int
    limits: Limits
    steps: list[Step] = field(default_factory=list)

    @property
    def room(self) -> int:
        """Tokens left for the next reply: the engine's own count where it gave one."""
        used = self.opening_tokens
        for step in self.steps:
            used = (step.tokens.prompt or used) + step.tokens.completion + step.answer_tokens
        return self.limits.tokens - used

    @property
    def seconds_left(self) -> float:
        """From the last answer on."""
        return self.limits.seconds - (self.steps[-1].seconds if self.steps else 0.0)


class MiniSE:
    """Proposes patches through an engine, its model using the three tools of `model.agents.tools`."""

    name = "mini-se"

    def __init__(
        self,
        engine: Engine,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = WithTools(engine)
        tokens = engine.context_tokens - SPARE_TOKENS
        self._limits = replace(limits or Limits(), tokens=min((limits or Limits()).tokens, tokens))
        self._template = prompt_template.load("mini_se")
        spoken = mixed_fingerprint(self._template.fingerprint, wording(TOOLS))
        self._speaker = EngineInfo(self._engine.name, self._engine.model, spoken)
        self._clock = clock

    def propose(
        self,
        issue: Issue,
        desk: Desk,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Attempt:
        """One attempt; a failing engine is a stop. What `on_step` raises ends it without a record."""
        began = self._clock()
        brief = Brief(self.name, self._speaker, issue, desk.tree, seed, guidance)
        talk = self._opened(issue, guidance)
        desk = replace(desk, page_characters=_longest_answer(talk.limits) * 3 // 4)
        try:
            while True:
                _require_leave(talk)
                said = self._reply(talk, seed)
                done = _carried_out(said, desk)
                step = self._step(said, done, talk.limits, began)
                talk.steps.append(step)
                on_step(step)
                _require_more(done)
        except Ended as end:
            course = Course(
                limits=talk.limits,
                steps=tuple(talk.steps),
                seconds=self._since(began),
                tools=TOOLS,
                opening=talk.opening,
                opening_tokens=talk.opening_tokens,
            )
            return attempt_record.attempt(brief, course, end)

    def _opened(self, issue: Issue, guidance: Guidance | None) -> _Talk:
        hint = hints.shown(guidance) if guidance else ""
        opening = self._template.render(issue=safe_issue(issue.text).text, hint=hint)
        shown = [*(one.content for one in opening), _offered(TOOLS)]
        tokens = self._engine.count_tokens("\n".join(shown))
        return _Talk(opening, tokens, self._limits)

    def _reply(self, talk: _Talk, seed: int) -> Completion:
        """What the model says next. Raises Ended when the engine fails, or has no answer before time is up."""
        request = Request(
            conversation(talk.opening, talk.steps),
            max_tokens=min(talk.limits.reply_tokens, talk.room),
            temperature=talk.limits.temperature,
            seed=100 * seed + len(talk.steps),
            tools=TOOLS,
            token_ids=True,
        )
        try:
            (answer,) = engine_deadline.answers(self._engine, [request], talk.seconds_left)
        except EngineError as error:
            answer = error
        if isinstance(answer, TimedOut):
            raise Ended(Stop.TIMEOUT, failure=str(answer))
        if isinstance(answer, EngineError):
            raise Ended(Stop.ENGINE, failure=str(answer))
        return answer

    def _step(
        self,
        said: Completion,
        done: list[tuple[ToolCall, Observation | Submission]],
        limits: Limits,
        began: float,
    ) -> Step:
        """The reply and what it is told, as it is kept."""
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
    """Raises Ended where a limit is reached."""
    steps, limits = talk.steps, talk.limits
    last = steps[-limits.malformed :]
    if len(last) == limits.malformed and all(step.malformed for step in last):
        raise Ended(Stop.MALFORMED)
    if len(steps) >= limits.rounds:
        raise Ended(Stop.ROUNDS)
    if talk.room < _LEAST_REPLY:
        raise Ended(Stop.TOKENS)
    if talk.seconds_left <= 0:
        raise Ended(Stop.TIMEOUT)


def _carried_out(said: Completion, desk: Desk) -> list[tuple[ToolCall, Observation | Submission]]:
    """Each call with what came of it; nothing after a submission."""
    done: list[tuple[ToolCall, Observation | Submission]] = []
    for at, call in enumerate(said.tool_calls):
        done.append((call, run(call, desk) if at < _MOST_CALLS else _TOO_MANY))
        if isinstance(done[-1][1], Submission):
            break
    return done


def _require_more(done: list[tuple[ToolCall, Observation | Submission]]) -> None:
    """Raises Ended when a patch was handed in."""
    for _, result in done:
        if isinstance(result, Submission):
            raise Ended(Stop.SUBMITTED, patch=result.diff)


def _longest_answer(limits: Limits) -> int:
    """In characters; of a small context about a quarter. Pages leave a quarter of it to what is around and escaped."""
    return min(limits.answer_characters, limits.tokens)


def _capped(text: str, most: int) -> str:
    head = 2 * most // 3
    return without_middle(text, head, most - head)


def wording(tools: Sequence[Tool]) -> str:
    """A fingerprint of all that the model is told of its tools before it uses one: 12 hex digits."""
    told = [_offered(tools), tool_text.described(tools), _NO_CALL, _CUT_OFF]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]


def _offered(tools: Sequence[Tool]) -> str:
    return json.dumps([asdict(tool) for tool in tools])
