"""A recorded attempt carried out once more, without its model: the same tree gives the same bytes."""

from collections.abc import Callable, Sequence
from itertools import chain, repeat

from model.agents.mini_se import SPARE_TOKENS, MiniSE
from model.agents.tools import Desk
from model.agents.trajectory import Trajectory
from model.errors import EngineDown, EngineError, UnknownAgent
from model.protocols import Completion, Request


class Recorded:
    """An engine that says, counts and fails as it did when the trajectory was recorded."""

    def __init__(self, trajectory: Trajectory) -> None:
        steps = trajectory.steps
        self.name, self.model = trajectory.engine.name, trajectory.engine.model
        self.context_tokens = trajectory.limits.tokens + SPARE_TOKENS
        self._failure = trajectory.failure
        self._counts = iter([trajectory.opening_tokens, *(one.answer_tokens for one in steps)])
        self._said = iter(
            Completion(
                text=one.reply.content,
                finished=one.finished,
                prompt_tokens=one.tokens.prompt,
                cached_tokens=one.tokens.cached,
                completion_tokens=one.tokens.completion,
                tool_calls=one.reply.tool_calls,
                token_ids=one.token_ids,
            )
            for one in steps
        )

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
        return EngineError(self._failure)


def replayed(trajectory: Trajectory, desk: Desk) -> Trajectory:
    """The attempt anew on a desk with the tree it was made on; equal to the recorded one as long as the code is.

    Raises UnknownAgent for what was not recorded by Mini-SE.
    """
    if trajectory.agent != MiniSE.name:
        raise UnknownAgent(f"only {MiniSE.name} can be replayed, this is by {trajectory.agent!r}")
    agent = MiniSE(Recorded(trajectory), limits=trajectory.limits, clock=_clock(trajectory))
    again = agent.propose(
        trajectory.issue, desk, seed=trajectory.seed, guidance=trajectory.guidance
    )
    return again.trajectory


def _clock(trajectory: Trajectory) -> Callable[[], float]:
    seconds = [0.0, *(one.seconds for one in trajectory.steps)]
    readings = chain(seconds, repeat(seconds[-1]))
    return lambda: next(readings)
