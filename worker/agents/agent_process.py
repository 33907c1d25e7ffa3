"""Run an agent in a sandboxed process and check everything that it reports.

The agent has read text by strangers, so the worker does not trust its messages. Lines have a length
limit, messages a type, and requests a budget. A record must match the task, and its patch must be
valid. Costs come from the engine's token counts and from the worker's clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.sandbox import TREE, build_command, explain_failure
from model.agents import agent_catalog
from model.agents.process.messages import (
    AgentMessage,
    AgentTask,
    AttemptFinished,
    BadMessage,
    ProcessFailed,
    PromptFile,
    Ready,
    StepFinished,
    encode_message,
    parse_agent_message,
)
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step, StopReason, Trajectory
from model.domain import EngineInfo, Issue, Tokens
from model.engines.pipe_engine import (
    CompletionQuestion,
    EngineFacts,
    TokenCountQuestion,
    describe_engine,
)
from model.errors import BadDiff
from model.prompts.untrusted import escape_invisible
from model.protocols import Engine
from model.sandbox.sandboxed_process import LINE_BYTES, ProcessEnded, SandboxedProcess
from model.sandbox.walls import SCRATCH, NoSandbox
from model.workspace import diff_validation
from worker.agents.budget import AgentLimits, UsageLedger
from worker.agents.metered_engine import EngineRequests, LimitExceeded, MeteredEngine

_MESSAGES: Final = 5_000
"""Most messages that a process may send for one attempt."""
_LINE_BYTES_PER_TOKEN: Final = 128
"""Bytes of one line per token of the engine's context. A pipeline's record holds the files that it
showed, about 20 times."""
_SECONDS: Final = 1e6
"""Longest time that a step may report."""
_LIMITS: Final = AgentLimits()
_REASON: Final = 2_000
"""Most characters that are kept of a failure."""


class AgentFailed(Exception):
    """The agent's process did not start, ended early, broke the protocol or exceeded a limit."""


def run_agent(  # noqa: PLR0913 - an attempt's task, limits and callbacks
    tree: Path,
    issue: Issue,
    *,
    agent: str,
    engine: Engine,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    repair_prompt: str | None = None,
    limits: AgentLimits = _LIMITS,
    on_step: Callable[[int, Step], None] = lambda _attempt, _step: None,
    ledger: UsageLedger | None = None,
) -> tuple[Attempt, ...]:
    """Run one attempt of an agent per seed, in one sandboxed process, and return the attempts in seed order.

    The call blocks the thread. `agent` is a name that the catalog builds. `tree` is the source tree, which the agent can only
    read. With `guidance` these are second attempts. `repair_prompt` names the prompt of Agentless Mini's repairs.
    `on_step` gets an attempt's position among the seeds and its step, on the caller's thread; an exception in it kills
    the process. `ledger` gets the cost and the finished attempts, even after an error.

    Raises AgentFailed, what `require_agent` raises, ValueError for repeated seeds, and the engine's errors except
    EngineError, which the agent gets as an answer.
    """
    is_chosen = agent != agent_catalog.RUBRIC_WRITER
    template = agent_catalog.require_agent(agent, repair_prompt) if is_chosen else None
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds {list(seeds)} repeat; each attempt needs its own seed")
    metered = MeteredEngine(engine, limits.tokens, len(seeds))
    ledger = ledger or UsageLedger(agent, EngineInfo(engine.name, engine.model, ""), seeds)
    task = AgentTask(
        tree=str(TREE),
        scratch=str(SCRATCH),
        agent=agent,
        engine=describe_engine(engine),
        issue=issue,
        seeds=tuple(seeds),
        seconds=limits.seconds,
        guidance=guidance,
        repair_prompt=PromptFile(template.name, template.source) if template else None,
    )
    record = _AttemptChecks(task, metered, ledger)
    try:
        with _open_process(tree, limits, engine.context_tokens) as process:
            _start_attempts(process, task)
            _follow(process, record, metered, on_step)
        return record.require_all()
    except (NoSandbox, ProcessEnded, BadMessage, LimitExceeded, _InvalidRecord) as error:
        raise AgentFailed(str(error)) from error
    finally:
        ledger.tokens, ledger.is_exhausted = metered.token_cost, metered.is_exhausted
        ledger.finished = record.list_finished()


def _open_process(tree: Path, limits: AgentLimits, context_tokens: int) -> SandboxedProcess:
    """Build the agent's process with its time limit and its longest line. Entering it starts the process."""
    longest = max(LINE_BYTES, _LINE_BYTES_PER_TOKEN * context_tokens)
    seconds = limits.seconds + limits.grace_seconds
    return SandboxedProcess(build_command(tree), seconds, longest)


def _start_attempts(process: SandboxedProcess, task: AgentTask) -> None:
    """Send the task.

    Raises NoSandbox when the process does not start, ProcessEnded or BadMessage.
    """
    first = next(process.read_lines(), None)
    if first is None:
        process.wait_for_exit()
        raise NoSandbox(explain_failure(process.read_last_error()))
    if not isinstance(parse_agent_message(first), Ready):
        raise BadMessage("the first message of the agent's process was not Ready")
    process.send(encode_message(task))


def _follow(
    process: SandboxedProcess,
    record: "_AttemptChecks",
    metered: MeteredEngine,
    on_step: Callable[[int, Step], None],
) -> None:
    """Handle every message until the process ends, and answer its requests."""
    with EngineRequests(metered, process) as asking:
        most = _MESSAGES * len(record.task.seeds)
        for number, raw in enumerate(process.read_lines()):
            if number >= most:
                raise LimitExceeded(f"the agent's process sent more than {most:,} messages")
            _handle_message(parse_agent_message(raw), record, asking, on_step)
        asking.raise_engine_error()
        if code := process.wait_for_exit():
            raise ProcessEnded(
                f"the agent's process ended (exit {code}): {process.read_last_error()}"
            )


def _handle_message(
    message: AgentMessage,
    record: "_AttemptChecks",
    asking: EngineRequests,
    on_step: Callable[[int, Step], None],
) -> None:
    match message:
        case TokenCountQuestion() | CompletionQuestion():
            asking.submit(message)
        case StepFinished(attempt, step):
            record.check_step(attempt, step)
            on_step(attempt, step)
        case AttemptFinished(trajectory):
            record.add(trajectory)
        case ProcessFailed(why):
            raise ProcessEnded(f"the agent failed: {escape_invisible(why[:500])}")
        case Ready():
            raise BadMessage("the agent's process sent Ready twice")


class _InvalidRecord(Exception):
    """The agent reported something that does not match its task or the engine's counts."""


class _AttemptChecks:
    """Checks each report of the process and keeps the finished attempts."""

    def __init__(self, task: AgentTask, metered: MeteredEngine, ledger: UsageLedger) -> None:
        self.task, self._metered, self._ledger = task, metered, ledger
        self._attempts: dict[int, Attempt] = {}

    def check_step(self, attempt: int, step: Step) -> None:
        """Check a reported step.

        Raises _InvalidRecord for an attempt that is unknown or finished, and for impossible counts.
        """
        if attempt in self._attempts or not 0 <= attempt < len(self.task.seeds):
            raise _InvalidRecord(
                f"the agent's process reported a step of attempt {attempt}, which is unknown or finished"
            )
        self._require_possible(step)

    def add(self, trajectory: Trajectory) -> None:
        """Check and keep a finished attempt.

        Raises _InvalidRecord when it does not match the task.
        """
        seed, seeds = trajectory.seed, self.task.seeds
        place = seeds.index(seed) if seed in seeds else -1
        if (
            place < 0
            or place in self._attempts
            or _describe_trajectory(trajectory) != _describe_task(self.task)
        ):
            raise _InvalidRecord(
                "the agent's process reported an attempt that its task does not have"
            )
        for step in trajectory.steps:
            self._require_possible(step)
        _require_patch(trajectory)
        self._require_paid(trajectory)
        reason = (
            None if trajectory.failure is None else escape_invisible(trajectory.failure[:_REASON])
        )
        self._attempts[place] = Attempt(replace(trajectory, failure=reason), self._ledger.seconds)

    def list_finished(self) -> tuple[Attempt, ...]:
        """Return the finished attempts in the order of their seeds."""
        return tuple(attempt for _, attempt in sorted(self._attempts.items()))

    def require_all(self) -> tuple[Attempt, ...]:
        """Return all attempts.

        Raises _InvalidRecord when one is missing, or when they report fewer tokens than the engine
        delivered in time.
        """
        finished = self.list_finished()
        if len(finished) < len(self.task.seeds):
            raise _InvalidRecord(
                f"the agent's process reported {len(finished)} of {len(self.task.seeds)} attempts"
            )
        reported, delivered = self._count_reported(), self._metered.on_time_tokens
        if reported < delivered:
            raise _InvalidRecord(
                f"the agent's process reported {reported:,} tokens, and {delivered:,} were paid for"
            )
        return finished

    def _count_reported(self) -> int:
        return sum(_sum_tokens(attempt.tokens) for attempt in self._attempts.values())

    def _require_paid(self, trajectory: Trajectory) -> None:
        reported = self._count_reported() + sum(
            _sum_tokens(step.tokens) for step in trajectory.steps
        )
        paid = self._metered.used_tokens
        if reported > paid:
            raise _InvalidRecord(
                f"the agent's process reported {reported:,} tokens, and {paid:,} were paid for"
            )

    def _require_possible(self, step: Step) -> None:
        tokens = step.tokens
        possible = 0 <= tokens.cached <= tokens.prompt and tokens.completion >= 0
        if (
            not possible
            or _sum_tokens(tokens) > self._metered.used_tokens
            or not 0 <= step.seconds <= _SECONDS
        ):
            raise _InvalidRecord(
                "the agent's process reported a step with impossible tokens or seconds"
            )


def _sum_tokens(tokens: Tokens) -> int:
    return tokens.prompt + tokens.completion


def _require_patch(trajectory: Trajectory) -> None:
    if trajectory.patch is None:
        return
    if trajectory.stop is not StopReason.SUBMITTED:
        raise _InvalidRecord(
            f"the agent's process reported a patch that it did not submit ({trajectory.stop})"
        )
    try:
        diff_validation.validate_diff(trajectory.patch)
    except BadDiff as error:
        raise _InvalidRecord(f"the agent's process submitted an invalid patch: {error}") from error


_Subject = tuple[str, Issue, Guidance | None, tuple[str, str]]


def _describe_trajectory(trajectory: Trajectory) -> _Subject:
    return (
        trajectory.agent,
        trajectory.issue,
        trajectory.guidance,
        (trajectory.engine.name, trajectory.engine.model),
    )


def _describe_task(task: AgentTask) -> _Subject:
    engine: EngineFacts = task.engine
    return task.agent, task.issue, task.guidance, (engine.name, engine.model)
