"""A recorded attempt carried out once more, without its model: the same tree gives the same bytes."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, repeat

from model.agents.agent import Agent
from model.agents.agentless.agentless_mini import AgentlessMini, Keep, Plan
from model.agents.mini_se.mini_se import SPARE_TOKENS, MiniSE
from model.agents.tools.toolbox import Desk
from model.agents.trajectories.trajectory import Step, Stop, Trajectory
from model.errors import EngineDown, EngineError, OtherTree, TimedOut, UnknownAgent
from model.protocols import Completion, Request


class Recorded:
    """An engine that says, counts and fails as it did when the trajectory was recorded."""

    def __init__(self, trajectory: Trajectory) -> None:
        steps = trajectory.steps
        self.name, self.model = trajectory.engine.name, trajectory.engine.model
        self.context_tokens = trajectory.limits.tokens + SPARE_TOKENS
        self._failure = trajectory.failure
        self._was_late = trajectory.stop is Stop.TIMEOUT
        self._counts = iter([trajectory.opening_tokens, *(one.answer_tokens for one in steps)])
        self._said = iter([_said(step) for step in steps])

    def count_tokens(self, _text: str) -> int:
        """What the engine counted then, in the order in which the loop asks."""
        return next(self._counts)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """The recorded replies in their order, then the recorded failure. Raises EngineDown where there is none."""
        return [self._next() for _ in requests]

    def close(self) -> None:
        """Nothing to give back."""

    def _next(self) -> Completion | EngineError:
        said = next(self._said, None)
        if said:
            return said
        if self._failure is None:
            raise EngineDown("the loop asks for more than was recorded; was it recorded here?")
        return (TimedOut if self._was_late else EngineError)(self._failure)


class RecordedSamples:
    """An engine that says, counts and fails as it did for a pipeline."""

    def __init__(self, trajectory: Trajectory, counts: Iterable[int]) -> None:
        self.name, self.model = trajectory.engine.name, trajectory.engine.model
        self.context_tokens = trajectory.limits.tokens
        self._failure = trajectory.failure or "more is asked for than was recorded"
        self._counts = iter(counts)
        self._answers = iter([_answer(step) for step in trajectory.steps])

    def count_tokens(self, _text: str) -> int:
        """What the engine counted then; of what it was not asked for, nothing."""
        return next(self._counts, 0)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """The recorded replies and failures in their order. Raises EngineDown after the last."""
        answers = list(islice(self._answers, len(requests)))
        if len(answers) < len(requests):
            raise EngineDown(self._failure)
        return answers

    def close(self) -> None:
        """Nothing to give back."""


def replayed(trajectory: Trajectory, desk: Desk) -> Trajectory:
    """The attempt anew on a desk with the tree it was made on; equal to the recorded one as long as the code is.

    Raises OtherTree, and UnknownAgent for what was recorded by none of ours.
    """
    if desk.tree != trajectory.tree:
        raise OtherTree(
            f"the attempt was made on a tree with digest {trajectory.tree!r}, this one has {desk.tree!r}; "
            "replay it on the commit it was made on"
        )
    agent = _agent(trajectory)
    again = agent.propose(
        trajectory.issue, desk, seed=trajectory.seed, guidance=trajectory.guidance
    )
    return again.trajectory


def _agent(trajectory: Trajectory) -> Agent:
    """Who recorded it, set up as it was. Raises UnknownAgent."""
    limits, clock = trajectory.limits, _clock(trajectory)
    if trajectory.agent == MiniSE.name:
        return MiniSE(Recorded(trajectory), limits=limits, clock=clock)
    if trajectory.agent == AgentlessMini.name:
        setting = json.loads(trajectory.setting)
        engine = RecordedSamples(trajectory, setting["counts"])
        return AgentlessMini(
            engine,
            limits=limits,
            plan=Plan(**setting["plan"]),
            keep=_keep(setting["kept"]),
            clock=clock,
        )
    raise UnknownAgent(
        f"only {MiniSE.name} and {AgentlessMini.name} can be replayed, this is by {trajectory.agent!r}"
    )


def _keep(kept: list[str] | None) -> Keep | None:
    """The filter that stood before the vote, as what it let pass then."""
    if kept is None:
        return None
    return lambda candidates: [one for one in candidates if one.id in kept]


def _answer(step: Step) -> Completion | EngineError:
    """What the engine answered, when a pipeline recorded it."""
    outcome = json.loads(step.outcome)
    failed = {"engine": EngineError, "late": TimedOut}.get(outcome.get("dropped"))
    return failed(outcome["why"]) if failed else _said(step)


def _said(step: Step) -> Completion:
    return Completion(
        text=step.reply.content,
        finished=step.finished,
        prompt_tokens=step.tokens.prompt,
        cached_tokens=step.tokens.cached,
        completion_tokens=step.tokens.completion,
        tool_calls=step.reply.tool_calls,
        token_ids=step.token_ids,
    )


def _clock(trajectory: Trajectory) -> Callable[[], float]:
    seconds = [0.0, *(one.seconds for one in trajectory.steps)]
    readings = chain(seconds, repeat(seconds[-1]))
    return lambda: next(readings)
