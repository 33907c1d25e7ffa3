"""Runs an agent in a process of its own, which holds no secret and reaches nothing but us; we ask the model for it.

It has read what strangers wrote, so what it says is believed no further than it can be checked: lines have a length,
messages a type, questions a number and a price, and a record must be of what was asked and name what was paid.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.sandbox import Sandbox
from app.walls import NoSandbox, command, inside, refusal
from model.agents import catalog
from model.agents.guidance import Guidance
from model.agents.messages import (
    BadMessage,
    Failed,
    Finished,
    FromAgent,
    Ready,
    Stepped,
    Task,
    from_agent,
    line,
)
from model.agents.trajectory import Attempt, Step, Trajectory
from model.domain import Issue
from model.engines.piped import Complete, Count, Facts, facts
from model.prompts.untrusted import visible
from model.protocols import Engine
from worker.shut_in import Died, ShutIn
from worker.till import Asking, Greedy, Till

_MESSAGES: Final = 5_000
"""Of one attempt."""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one call may cost, all attempts together."""

    seconds: float = 1_800.0
    """After them attempts end themselves, between two replies."""
    grace_seconds: float = 120.0
    """For the reply under way; then the process is killed."""
    tokens: int = 4_000_000
    """Read and sampled, as the engine counts; a request that could pass it is refused, and its attempt ends."""


class AgentFailed(Exception):
    """The agent's process could not start, died, said nonsense, or took too much.

    `finished`: attempts that were over by then, in the order of their seeds; `tokens`: what was paid for in all.
    """

    def __init__(self, reason: str, finished: tuple[Attempt, ...] = (), tokens: int = 0) -> None:
        super().__init__(reason)
        self.finished, self.tokens = finished, tokens


def run(  # noqa: PLR0913 - what an attempt is about, and what it may cost
    tree: Path,
    issue: Issue,
    *,
    agent: str,
    engine: Engine,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    limits: AgentLimits = AgentLimits(),
    on_step: Callable[[int, Step], None] = lambda _attempt, _step: None,
    sandbox: Sandbox = Sandbox.BUBBLEWRAP,
) -> tuple[Attempt, ...]:
    """One attempt for each seed, in their order, on a tree that is only read. Blocks: the thread must stay alive.

    `on_step` is told the attempt's place and its step, on the caller's thread; what it raises kills the process.
    Raises AgentFailed, UnknownAgent, ValueError for seeds that are not all different, and what the engine raises that is
    no EngineError.
    """
    catalog.require(agent)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds {list(seeds)} repeat; an attempt is known by its own")
    till = Till(engine, limits.tokens, len(seeds))
    with inside(sandbox, tree) as (there, scratch):
        task = Task(
            tree=str(there),
            scratch=str(scratch),
            agent=agent,
            engine=facts(engine),
            issue=issue,
            seeds=tuple(seeds),
            seconds=limits.seconds,
            guidance=guidance,
        )
        record = _Record(task)
        try:
            started = command(sandbox, tree)
            with ShutIn(started, limits.seconds + limits.grace_seconds) as process:
                _begin(process, task, sandbox)
                _follow(process, record, till, on_step)
            return record.complete(till.due)
        except (NoSandbox, Died, BadMessage, Greedy, _Untrue) as error:
            raise AgentFailed(str(error), record.finished(), till.spent) from error


def _begin(process: ShutIn, task: Task, sandbox: Sandbox) -> None:
    """Raises NoSandbox when it doesn't start, Died, BadMessage."""
    first = next(process.lines(), None)
    if first is None:
        process.end()
        raise NoSandbox(refusal(sandbox, process.last_words()))
    if not isinstance(from_agent(first), Ready):
        raise BadMessage("it did not say that it is ready")
    process.say(line(task))


def _follow(
    process: ShutIn, record: "_Record", till: Till, on_step: Callable[[int, Step], None]
) -> None:
    """Hear all it says, and answer what it asks. Raises Died, BadMessage, Greedy, _Untrue, and what `on_step` does."""
    with Asking(till, process) as asking:
        most = _MESSAGES * len(record.task.seeds)
        for number, raw in enumerate(process.lines()):
            if number >= most:
                raise Greedy(f"the agent's process said more than {most:,} things")
            _take(from_agent(raw), record, asking, on_step)
        asking.require_engine()
        if code := process.end():
            raise Died(f"the agent's process ended (exit {code}): {process.last_words()}")


def _take(
    message: FromAgent,
    record: "_Record",
    asking: Asking,
    on_step: Callable[[int, Step], None],
) -> None:
    match message:
        case Count() | Complete():
            asking.take(message)
        case Stepped(attempt, step):
            record.require_place(attempt)
            on_step(attempt, step)
        case Finished(trajectory, seconds):
            record.add(Attempt(trajectory, seconds))
        case Failed(why):
            raise Died(f"the agent failed: {visible(why[:500])}")
        case Ready():
            raise BadMessage("it was ready before")


class _Untrue(Exception):
    """A record that can't be one of what was asked."""


class _Record:
    """The attempts that are over, each in its place."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._attempts: dict[int, Attempt] = {}

    def require_place(self, attempt: int) -> None:
        """Raises _Untrue for an attempt that nobody asked for, or that is over."""
        if attempt in self._attempts or not 0 <= attempt < len(self.task.seeds):
            raise _Untrue(f"the agent's process told a step of attempt {attempt}, which is none")

    def add(self, attempt: Attempt) -> None:
        """Raises _Untrue for the record of anything else than what was asked."""
        seed, seeds = attempt.trajectory.seed, self.task.seeds
        place = seeds.index(seed) if seed in seeds else -1
        if place < 0 or place in self._attempts or _about(attempt.trajectory) != _asked(self.task):
            raise _Untrue("the agent's process told of an attempt that it was not asked for")
        self._attempts[place] = attempt

    def finished(self) -> tuple[Attempt, ...]:
        """Those that there are, in the order of their seeds."""
        return tuple(attempt for _, attempt in sorted(self._attempts.items()))

    def complete(self, due: int) -> tuple[Attempt, ...]:
        """All of them. Raises _Untrue where one lacks, or they tell of fewer tokens than they were given."""
        done = self.finished()
        if len(done) < len(self.task.seeds):
            raise _Untrue(
                f"the agent's process told of {len(done)} of {len(self.task.seeds)} attempts"
            )
        told = sum(one.tokens.prompt + one.tokens.completion for one in done)
        if told < due:
            raise _Untrue(f"the agent's process told of {told:,} tokens, and {due:,} were paid for")
        return done


_About = tuple[str, Issue, Guidance | None, tuple[str, str]]


def _about(told: Trajectory) -> _About:
    return told.agent, told.issue, told.guidance, (told.engine.name, told.engine.model)


def _asked(task: Task) -> _About:
    engine: Facts = task.engine
    return task.agent, task.issue, task.guidance, (engine.name, engine.model)
