"""Runs an agent in a process of its own, which holds no secret and reaches nothing but us; we ask the model for it.

It has read what strangers wrote, so what it says is believed no further than it can be checked: lines have a length,
messages a type, questions a number and a price, a record must be of what was asked and name what was paid, and its patch
must be one that our own tools could have written. What it all cost is read off the engine's counts and our clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.sandbox import NoSandbox, command, inside, refusal
from app.settings.sandbox_kind import Sandbox
from model.agents import agent_catalog
from model.agents.process.messages import (
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
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step, Stop, Trajectory
from model.domain import EngineInfo, Issue, Tokens
from model.engines.pipe_engine import Complete, Count, Facts, facts
from model.errors import BadDiff
from model.prompts.untrusted import visible
from model.protocols import Engine
from model.workspace import diff_validation
from worker.agents.metered_engine import Asking, Greedy, Till
from worker.agents.sandboxed_process import LINE_BYTES, Died, ShutIn
from worker.agents.usage_ledger import Bill

_MESSAGES: Final = 5_000
"""Of one attempt."""
_LINE_BYTES_PER_TOKEN: Final = 128
"""Of the engine's context: a pipeline's record holds the files it showed, some 20 times."""
_SECONDS: Final = 1e6
"""Of one step; no attempt is as long."""
_REASON: Final = 2_000
"""Characters kept of why an attempt failed."""


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
    """The agent's process could not start, died, said nonsense, or took too much."""


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
    bill: Bill | None = None,
) -> tuple[Attempt, ...]:
    """One attempt for each seed, in their order, on a tree that is only read. Blocks: the thread must stay alive.

    `on_step` is told the attempt's place and its step, on the caller's thread; what it raises kills the process.
    However it ends, `bill` tells afterwards what it cost, and which attempts were over.
    Raises AgentFailed, UnknownAgent, ValueError for seeds that are not all different, and what the engine raises that is
    no EngineError.
    """
    agent_catalog.require(agent)
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
        bill = bill or Bill(agent, EngineInfo(engine.name, engine.model, ""), seeds)
        record = _Record(task, till, bill)
        longest = max(LINE_BYTES, _LINE_BYTES_PER_TOKEN * engine.context_tokens)
        try:
            started = command(sandbox, tree)
            with ShutIn(started, limits.seconds + limits.grace_seconds, longest) as process:
                _begin(process, task, sandbox)
                _follow(process, record, till, on_step)
            return record.complete()
        except (NoSandbox, Died, BadMessage, Greedy, _Untrue) as error:
            raise AgentFailed(str(error)) from error
        finally:
            bill.tokens, bill.is_used_up = till.cost, till.is_used_up
            bill.finished = record.finished()


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
            record.require_step(attempt, step)
            on_step(attempt, step)
        case Finished(trajectory):
            record.add(trajectory)
        case Failed(why):
            raise Died(f"the agent failed: {visible(why[:500])}")
        case Ready():
            raise BadMessage("it was ready before")


class _Untrue(Exception):
    """A record that can't be one of what was asked."""


class _Record:
    """The attempts that are over, each in its place."""

    def __init__(self, task: Task, till: Till, bill: Bill) -> None:
        self.task, self._till, self._bill = task, till, bill
        self._attempts: dict[int, Attempt] = {}

    def require_step(self, attempt: int, step: Step) -> None:
        """Raises _Untrue for an attempt that nobody asked for, or that is over, and for impossible figures."""
        if attempt in self._attempts or not 0 <= attempt < len(self.task.seeds):
            raise _Untrue(f"the agent's process told a step of attempt {attempt}, which is none")
        self._require_possible(step)

    def add(self, told: Trajectory) -> None:
        """Raises _Untrue for the record of anything else than what was asked, and for one that can't be true."""
        seed, seeds = told.seed, self.task.seeds
        place = seeds.index(seed) if seed in seeds else -1
        if place < 0 or place in self._attempts or _about(told) != _asked(self.task):
            raise _Untrue("the agent's process told of an attempt that it was not asked for")
        for step in told.steps:
            self._require_possible(step)
        _require_patch(told)
        self._require_paid(told)
        reason = None if told.failure is None else visible(told.failure[:_REASON])
        self._attempts[place] = Attempt(replace(told, failure=reason), self._bill.seconds)

    def finished(self) -> tuple[Attempt, ...]:
        """Those that there are, in the order of their seeds."""
        return tuple(attempt for _, attempt in sorted(self._attempts.items()))

    def complete(self) -> tuple[Attempt, ...]:
        """All of them. Raises _Untrue where one lacks, or they tell of fewer tokens than they were given."""
        done = self.finished()
        if len(done) < len(self.task.seeds):
            raise _Untrue(
                f"the agent's process told of {len(done)} of {len(self.task.seeds)} attempts"
            )
        told, due = self._told, self._till.due
        if told < due:
            raise _Untrue(f"the agent's process told of {told:,} tokens, and {due:,} were paid for")
        return done

    @property
    def _told(self) -> int:
        return sum(_total(one.tokens) for one in self._attempts.values())

    def _require_paid(self, more: Trajectory) -> None:
        told = self._told + sum(_total(step.tokens) for step in more.steps)
        paid = self._till.spent
        if told > paid:
            raise _Untrue(
                f"the agent's process told of {told:,} tokens, and {paid:,} were paid for"
            )

    def _require_possible(self, step: Step) -> None:
        had = step.tokens
        possible = 0 <= had.cached <= had.prompt and had.completion >= 0
        if not possible or _total(had) > self._till.spent or not 0 <= step.seconds <= _SECONDS:
            raise _Untrue("the agent's process told of a step whose tokens or seconds can't be")


def _total(tokens: Tokens) -> int:
    return tokens.prompt + tokens.completion


def _require_patch(told: Trajectory) -> None:
    if told.patch is None:
        return
    if told.stop is not Stop.SUBMITTED:
        raise _Untrue(f"the agent's process told of a patch that was not handed in ({told.stop})")
    try:
        diff_validation.require(told.patch)
    except BadDiff as error:
        raise _Untrue(f"the agent's process handed in what it may not: {error}") from error


_About = tuple[str, Issue, Guidance | None, tuple[str, str]]


def _about(told: Trajectory) -> _About:
    return told.agent, told.issue, told.guidance, (told.engine.name, told.engine.model)


def _asked(task: Task) -> _About:
    engine: Facts = task.engine
    return task.agent, task.issue, task.guidance, (engine.name, engine.model)
