"""`r4p propose` lets an agent write a patch for an issue, offline. It only reads the directory."""

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from model import catalog
from model.agents.agent_catalog import AGENTS
from model.catalog import EngineChoice
from model.commands import inputs
from model.commands.exit_codes import STDERR, USAGE_ERRORS, Exit, stop
from model.commands.index import locate_index
from model.commands.options import Cache, EngineName, KeyFile, Model, Script, Url, choose_engine
from model.domain import Issue
from model.errors import BadTrajectory, ModelError, NoCodeGraph, UnknownAgent, WorkspaceError
from model.prompts.untrusted import escape_invisible

if TYPE_CHECKING:
    from model.agents.trajectories.guidance import Guidance
    from model.agents.trajectories.trajectory import Attempt, Step

_USAGE = (
    *USAGE_ERRORS,
    inputs.BadInput,
    BadTrajectory,
    NoCodeGraph,
    UnknownAgent,
    WorkspaceError,
    OSError,
)

_Repo = Annotated[
    Path,
    typer.Option(
        "--repo", metavar="DIR", help="Folder of the code; the command never writes into it."
    ),
]
_Issue = Annotated[
    Path,
    typer.Option(
        "--issue", metavar="FILE", help="File with the issue; the first line is the title."
    ),
]
_Agent = Annotated[
    str,
    typer.Option(
        "--agent", metavar="NAME", help=f"Agent that writes the patch: {', '.join(AGENTS)}."
    ),
]
_Attempts = Annotated[
    int, typer.Option("--attempts", min=1, max=64, help="Number of attempts, side by side.")
]
_Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="Seed of the first attempt; the other attempts count up from it."
    ),
]
_Database = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File of the code graph (~/.cache/r4p/index).")
]
_Trajectories = Annotated[
    Path | None,
    typer.Option(
        "--trajectories", metavar="DIR", help="Folder to keep what each attempt saw and did."
    ),
]
_Feedback = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="What was wrong with an earlier attempt, or what to do instead."
    ),
]
_Parent = Annotated[
    Path | None,
    typer.Option("--parent", metavar="FILE", help="Trajectory that --feedback is about."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one r4p.proposal/1 document.")]


def propose(  # noqa: PLR0913 - one parameter per option of the command
    repo: _Repo,
    issue: _Issue,
    agent: _Agent = "mini-se",
    attempts: _Attempts = 1,
    seed: _Seed = 0,
    engine: EngineName = None,
    engine_url: Url = None,
    model: Model = None,
    api_key_file: KeyFile = None,
    script: Script = None,
    cache: Cache = None,
    database: _Database = None,
    trajectories: _Trajectories = None,
    feedback: _Feedback = None,
    parent: _Parent = None,
    json_output: _Json = False,
) -> None:
    """Let an agent write a patch for an issue, and print it as a diff.

    Exit codes: 0 a patch, 2 usage, 3 no patch, 5 no engine.
    """
    began = time.monotonic()
    try:
        choice = choose_engine(engine, engine_url, model, api_key_file, script, cache)
        reported = inputs.read_issue(issue)
        if trajectories:
            trajectories.mkdir(parents=True, exist_ok=True)
        hint = _prepare_hint(feedback, parent, reported)
        tree = repo, database or locate_index(repo)
        unkept: list[OSError] = []
        how = _RunSettings(range(seed, seed + attempts), hint, _build_writer(trajectories, unkept))
        done = _run_attempts(choice, agent, reported, tree, how)
    except KeyboardInterrupt:
        _exit_at_once()
    except _USAGE as error:
        stop("propose", Exit.USAGE, str(error))
    except ModelError as error:
        stop("propose", Exit.BACKEND_DOWN, str(error))
    code = _print_result(reported, done, time.monotonic() - began, json_output=json_output)
    if unkept:
        stop("propose", Exit.USAGE, f"the attempts can't be kept: {unkept[0]}")
    raise typer.Exit(code)


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


@dataclass(frozen=True, slots=True)
class _RunSettings:
    """The seeds, the hint and the function that stores each finished attempt."""

    seeds: Sequence[int]
    hint: "Callable[[Collection[str]], Guidance | None]"
    keep: "Callable[[int, Attempt], None]"


def _run_attempts(
    choice: EngineChoice, agent: str, issue: Issue, tree: tuple[Path, Path], how: _RunSettings
) -> "tuple[Attempt, ...]":
    """Run the attempts. `tree` is the directory with the file of its code graph."""
    from model.agents import agent_catalog as agents
    from model.agents import attempt_setup, parallel_attempts

    agents.require_agent(agent)
    with _show_progress() as show, attempt_setup.open_tool_contexts(*tree) as desk:
        with desk() as first:
            guidance = how.hint(frozenset(first.snapshot.list_paths()))
        reporting = replace(choice, on_step=lambda step, n, _total: show(f"{step} {n or ''}"))
        with closing(catalog.load_engine(reporting)) as engine:
            show(f"{engine.model} works on it")
            return parallel_attempts.run_attempts(
                agents.build_agent(agent, engine),
                issue,
                desk,
                seeds=how.seeds,
                guidance=guidance,
                callbacks=parallel_attempts.AttemptCallbacks(_print_step, how.keep),
            )


@contextmanager
def _show_progress() -> Iterator[Callable[[str], None]]:
    """Show the current step on a terminal. Finished steps are printed everywhere."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    shown = STDERR.is_terminal
    with Progress(*columns, console=STDERR, transient=True, disable=not shown) as bar:
        task = bar.add_task("reading the code", total=None)
        yield lambda text: bar.update(task, description=escape_invisible(text))


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
    issue: Issue, attempts: "Sequence[Attempt]", seconds: float, *, json_output: bool
) -> Exit:
    """Print the patch or the document on stdout and a summary on stderr, and return the exit code."""
    from model.agents.attempt_selection import choose_attempt
    from model.agents.proposal_json import to_json
    from model.agents.trajectories.trajectory import StopReason

    selection = choose_attempt([candidate.patch for candidate in attempts])
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
        sys.stdout.write(json.dumps(to_json(issue, attempts, seconds=seconds), indent=2) + "\n")
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
