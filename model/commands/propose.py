"""`r4p propose` lets an agent write a patch for an issue, offline. It only reads the directory."""

import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

import typer
from typer import Option

from model import catalog
from model.agents.agent_catalog import AGENTS
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.agentless.search_replace import PARSERS
from model.commands import inputs
from model.commands.exit_codes import STDERR, Exit, exit_on_error, print_json, stop
from model.commands.index import locate_index
from model.commands.options import EngineOptions, SuiteOptions, accept_options
from model.commands.output import report_loading, show_progress
from model.domain import Issue
from model.errors import (
    BadSuiteCommand,
    BadTrajectory,
    NoBaseline,
    NoCodeGraph,
    UnknownAgent,
    WorkspaceError,
)
from model.prompts.untrusted import escape_invisible
from model.reproduction.test_writing import WritingLimits
from model.sandbox.walls import NoSandbox

if TYPE_CHECKING:
    from model.agents.attempt_selection import AttemptSelection
    from model.agents.trajectories.guidance import Guidance
    from model.agents.trajectories.trajectory import Attempt, Step
    from model.reproduction.patch_selection import ExecutionSelection

_PROPOSE = "propose"
_USAGE = (
    *(inputs.BadInput, BadTrajectory, NoCodeGraph, UnknownAgent, WorkspaceError, OSError),
    *(BadSuiteCommand, NoBaseline),
)


@dataclass(frozen=True, kw_only=True)
class ProposeOptions(SuiteOptions, EngineOptions):
    """Options of `r4p propose`."""

    repo: Annotated[
        Path,
        Option(
            "--repo",
            "--tree",
            metavar="DIR",
            help="Folder of the code; the command never writes into it.",
        ),
    ]
    issue: Annotated[
        Path, Option(metavar="FILE", help="File with the issue; the first line is the title.")
    ]
    agent: Annotated[
        str, Option(metavar="NAME", help=f"Agent that writes the patch: {', '.join(AGENTS)}.")
    ] = "mini-se"
    repair_prompt: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE",
            help=f"Prompt of Agentless Mini's repairs: {', '.join(PARSERS)}, or a file.",
        ),
    ] = None
    localisations: Annotated[
        int, Option(min=1, help="Sampled sets of suspicious files in an attempt of Agentless Mini.")
    ] = SamplingPlan().localisations
    repairs: Annotated[
        int, Option(min=1, help="Sampled repairs in an attempt of Agentless Mini.")
    ] = SamplingPlan().repairs
    tests_command: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="Tests of the code, such as `pytest -q`; they run in a sandbox and choose among patches.",
        ),
    ] = None
    tests: Annotated[
        int,
        Option(min=0, help="Reproduction tests that the model writes, with --tests-command."),
    ] = WritingLimits().tests
    attempts: Annotated[int, Option(min=1, max=64, help="Number of attempts, side by side.")] = 1
    seed: Annotated[
        int, Option(min=0, help="Seed of the first attempt; the other attempts count up from it.")
    ] = 0
    database: Annotated[
        Path | None, Option(metavar="FILE", help="File of the code graph (~/.cache/r4p/index).")
    ] = None
    trajectories: Annotated[
        Path | None, Option(metavar="DIR", help="Folder to keep what each attempt saw and did.")
    ] = None
    feedback: Annotated[
        str | None,
        Option(
            metavar="TEXT", help="What was wrong with an earlier attempt, or what to do instead."
        ),
    ] = None
    parent: Annotated[
        Path | None, Option(metavar="FILE", help="Trajectory that --feedback is about.")
    ] = None
    json_output: Annotated[bool, Option("--json", help="Print one r4p.proposal/1 document.")] = (
        False
    )

    def build_plan(self) -> SamplingPlan:
        """Return what Agentless Mini samples in an attempt. It writes tests only where they can be run."""
        tests = self.tests if self.tests_command else 0
        return SamplingPlan(self.localisations, self.repairs, tests)

    def prepare_tests(self, say: Callable[[str], object]) -> "ExecutionSelection | None":
        """Run the tests on the base, before the model costs anything; None without a test command.

        Raises BadInput, BadSuiteCommand, NoBaseline and NoSandbox.
        """
        from model.reproduction.patch_selection import prepare_selection

        if self.tests_command is None:
            if self.python:
                raise inputs.BadInput("--python needs --tests-command: name the tests")
            return None
        command = self.parse_command(self.tests_command)
        say("running the tests on the base")
        most = max(self.tests, 1)
        return prepare_selection(self.repo, command, most_tests=most, base_runs=self.base_runs)


@accept_options(ProposeOptions)
def propose(options: ProposeOptions) -> None:
    """Let an agent write a patch for an issue, and print it as a diff.

    Exit codes: 0 a patch, 2 usage, 3 no patch, 5 no engine.
    """
    began = time.monotonic()
    unkept: list[OSError] = []
    try:
        with exit_on_error(_PROPOSE, *_USAGE):
            issue = inputs.read_issue(options.issue)
            attempts, selection = _run_attempts(options, issue, unkept)
    except KeyboardInterrupt:
        _exit_at_once()
    seconds = time.monotonic() - began
    code = _print_result(issue, attempts, selection, seconds, json_output=options.json_output)
    if unkept:
        stop(_PROPOSE, Exit.USAGE, f"the attempts can't be kept: {unkept[0]}")
    raise typer.Exit(code)


def _run_attempts(
    options: ProposeOptions, issue: Issue, unkept: list[OSError]
) -> "tuple[tuple[Attempt, ...], AttemptSelection]":
    """Run the attempts and choose among them. Errors of keeping one go to `unkept`, because the others continue."""
    from model.agents import agent_catalog as agents
    from model.agents import attempt_setup, parallel_attempts
    from model.agents.attempt_selection import choose_attempt
    from model.agents.tested_attempts import choose_by_tests

    choice = options.choose_engine()
    if options.trajectories:
        options.trajectories.mkdir(parents=True, exist_ok=True)
    build_hint = _prepare_hint(options.feedback, options.parent, issue)
    plan = options.build_plan()
    repair_prompt = agents.require_agent(options.agent, options.repair_prompt, plan)
    index = options.database or locate_index(options.repo)
    with show_progress() as (say, _), attempt_setup.open_tool_contexts(options.repo, index) as desk:
        say("reading the code")
        with desk() as first:
            guidance = build_hint(frozenset(first.snapshot.list_paths()))
        try:
            tests = options.prepare_tests(say)
        except NoSandbox as error:
            stop(_PROPOSE, Exit.BACKEND_DOWN, str(error))
        with closing(catalog.load_engine(report_loading(choice, say))) as engine:
            say(f"{engine.model} works on it")
            keep = _build_writer(options.trajectories, unkept)
            attempts = parallel_attempts.run_attempts(
                agents.build_agent(
                    options.agent,
                    engine,
                    repair_prompt=repair_prompt,
                    plan=plan,
                    keep=tests.select if tests else None,
                ),
                issue,
                desk,
                seeds=range(options.seed, options.seed + options.attempts),
                guidance=guidance,
                callbacks=parallel_attempts.AttemptCallbacks(_print_step, keep),
            )
            if tests is None:
                return attempts, choose_attempt([attempt.patch for attempt in attempts])
            say("running the tests on the patches")
            limits = WritingLimits(options.tests)
            return attempts, choose_by_tests(attempts, tests, engine, issue, limits)


def _prepare_hint(
    feedback: str | None, parent: Path | None, issue: Issue
) -> "Callable[[Collection[str]], Guidance | None]":
    """Return a function that builds the hint from the tree's paths. Raises BadInput, BadTrajectory."""
    from model.agents.trajectories import guidance
    from model.agents.trajectories.trajectory_json import compute_identity, load_trajectory

    if feedback is None:
        if parent:
            raise inputs.BadInput("--parent needs --feedback: say what was wrong with that attempt")
        return lambda _paths: None
    if not feedback.strip():
        raise inputs.BadInput("--feedback is blank; say what was wrong, or leave it out")
    first = load_trajectory(parent.read_bytes()) if parent else None
    if first and first.issue != issue:
        raise inputs.BadInput(f"{parent} is an attempt at another issue, {first.issue.title!r}")
    parent_id = compute_identity(first) if first else ""
    source = guidance.HintSource.MAINTAINER
    return lambda paths: guidance.build_guidance(source, feedback, paths=paths, parent=parent_id)


def _print_step(index: int, step: "Step") -> None:
    calls = [f"{call.name} {call.arguments}" for call in step.reply.tool_calls]
    did = "; ".join(calls) or step.stage or "no tool call"
    short = did if len(did) <= 100 else f"{did[:99]}…"
    tokens = step.tokens.prompt + step.tokens.completion
    wrong = ", malformed" if step.malformed else ""
    STDERR.print(
        escape_invisible(
            f"attempt {index + 1}, {step.seconds:.1f} s, {tokens:,} tokens{wrong}: {short}"
        )
    )


def _build_writer(folder: Path | None, unkept: list[OSError]) -> "Callable[[int, Attempt], None]":
    """Return a function that writes each attempt as it ends: it is paid for, even when others fail."""
    from model.agents.trajectories import trajectory_json

    def keep(index: int, attempt: "Attempt") -> None:
        if folder is None:
            return
        try:
            path = folder / f"attempt-{index + 1}.json"
            path.write_bytes(trajectory_json.dump_trajectory(attempt.trajectory))
        except OSError as error:
            unkept.append(error)

    return keep


def _exit_at_once() -> Never:
    """Exit at once. A thread that waits for a reply would keep the process alive."""
    STDERR.print("r4p propose: stopped")
    os._exit(130)


def _print_result(
    issue: Issue,
    attempts: "Sequence[Attempt]",
    selection: "AttemptSelection",
    seconds: float,
    *,
    json_output: bool,
) -> Exit:
    """Print the patch or the document on stdout and a summary on stderr, and return the exit code."""
    from model.agents.proposal_json import to_json
    from model.agents.trajectories.trajectory import StopReason

    for number, attempt in enumerate(attempts, 1):
        failure = f" ({attempt.trajectory.failure})" if attempt.trajectory.failure else ""
        STDERR.print(
            escape_invisible(
                f"attempt {number}: {attempt.stop.value}{failure} after {attempt.rounds} rounds, "
                f"{attempt.tokens.prompt:,} + {attempt.tokens.completion:,} tokens, {attempt.seconds:.1f} s"
            )
        )
    STDERR.print(selection.why)
    if json_output:
        print_json(to_json(issue, attempts, seconds=seconds, selection=selection))
    elif selection.index is not None:
        _print_diff(attempts[selection.index].patch or "")
    if selection.index is not None:
        return Exit.OK
    engine_failed = all(candidate.stop is StopReason.ENGINE for candidate in attempts)
    return Exit.BACKEND_DOWN if engine_failed else Exit.NONE_CORRECT


def _print_diff(diff: str) -> None:
    """Print the exact bytes for `git apply`, or escaped text on a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(escape_invisible(diff))
    else:
        sys.stdout.buffer.write(diff.encode(errors="surrogateescape"))
