"""Replay a recorded attempt without its model. The same tree gives the same bytes."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, repeat
from typing import Any

from model.agents.agentless.agentless_mini import AgentlessMini, CandidateFilter
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.mini_se.mini_se import SPARE_TOKENS, MiniSE
from model.agents.parallel_attempts import Agent
from model.agents.tools.toolbox import ToolContext
from model.agents.trajectories.trajectory import Step, StopReason, Trajectory
from model.domain import PatchId
from model.errors import EngineDown, EngineError, EngineTimeout
from model.protocols import Completion, Request
from model.reproduction.rerank import SelectedPatches


class ReplayEngine:
    """Engine that repeats the replies, token counts and failure of a recorded Mini-SE conversation."""

    special_tokens: frozenset[str] | None = frozenset()

    def __init__(self, trajectory: Trajectory) -> None:
        steps = trajectory.steps
        self.name, self.model = trajectory.engine.name, trajectory.engine.model
        self.context_tokens = trajectory.limits.tokens + SPARE_TOKENS
        self._failure = trajectory.failure
        self._was_late = trajectory.stop is StopReason.TIMEOUT
        self._counts = iter(
            [trajectory.opening_tokens, *(counted.answer_tokens for counted in steps)]
        )
        self._completions = iter([_read_completion(step) for step in steps])

    def count_tokens(self, _text: str) -> int:
        """Return the recorded counts in the order in which the loop asks for them."""
        return next(self._counts)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return the recorded replies in order, then the recorded failure. Raises EngineDown after the last."""
        return [self._next() for _ in requests]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _next(self) -> Completion | EngineError:
        completion = next(self._completions, None)
        if completion:
            return completion
        if self._failure is None:
            raise EngineDown(
                "the loop asks for more replies than were recorded; did another version record them?"
            )
        return (EngineTimeout if self._was_late else EngineError)(self._failure)


class SampleReplayEngine:
    """Engine that repeats the replies, token counts and failures of a recorded attempt of Agentless Mini."""

    special_tokens: frozenset[str] | None = frozenset()

    def __init__(self, trajectory: Trajectory, counts: Iterable[int]) -> None:
        self.name, self.model = trajectory.engine.name, trajectory.engine.model
        self.context_tokens = trajectory.limits.tokens
        self._failure = trajectory.failure or "more is asked for than was recorded"
        self._counts = iter(counts)
        self._answers = iter([_read_answer(step) for step in trajectory.steps])

    def count_tokens(self, _text: str) -> int:
        """Return the recorded counts in order, and 0 after the last one."""
        return next(self._counts, 0)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return the recorded replies and failures in order. Raises EngineDown after the last one."""
        answers = list(islice(self._answers, len(requests)))
        if len(answers) < len(requests):
            raise EngineDown(self._failure)
        return answers

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def replay_attempt(trajectory: Trajectory, context: ToolContext) -> Trajectory:
    """Repeat a recorded attempt on the tree where it was made."""
    assert context.tree == trajectory.tree
    agent = _build_agent(trajectory)
    again = agent.propose(
        trajectory.issue, context, seed=trajectory.seed, guidance=trajectory.guidance
    )
    return again.trajectory


def _build_agent(trajectory: Trajectory) -> Agent:
    """Build the recorded agent with its recorded settings."""
    limits, clock = trajectory.limits, _build_clock(trajectory)
    if trajectory.agent == MiniSE.name:
        return MiniSE(ReplayEngine(trajectory), limits=limits, clock=clock)
    setting = json.loads(trajectory.setting)
    return AgentlessMini(
        SampleReplayEngine(trajectory, setting["counts"]),
        limits=limits,
        plan=SamplingPlan(**setting["plan"]),
        keep=_build_filter(setting["kept"], setting["execution"]),
        repair_prompt=setting["repair_prompt"],
        clock=clock,
    )


def _build_filter(kept: list[PatchId] | None, record: Any) -> CandidateFilter | None:
    """Return a filter that keeps the candidates that the recorded filter kept."""
    if kept is None:
        return None
    return lambda _candidates, _tests: SelectedPatches(tuple(kept), record)


def _read_answer(step: Step) -> Completion | EngineError:
    """Return the recorded answer of one pipeline step."""
    outcome = json.loads(step.outcome)
    failed = {"engine": EngineError, "late": EngineTimeout}.get(outcome.get("dropped"))
    return failed(outcome["why"]) if failed else _read_completion(step)


def _read_completion(step: Step) -> Completion:
    return Completion(
        text=step.reply.content,
        finished=step.finished,
        prompt_tokens=step.tokens.prompt,
        cached_tokens=step.tokens.cached,
        completion_tokens=step.tokens.completion,
        tool_calls=step.reply.tool_calls,
        token_ids=step.token_ids,
    )


def _build_clock(trajectory: Trajectory) -> Callable[[], float]:
    seconds = [0.0, *(step.seconds for step in trajectory.steps)]
    readings = chain(seconds, repeat(seconds[-1]))
    return lambda: next(readings)
