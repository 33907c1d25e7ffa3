"""`r4p verify` judges candidate patches from files, without GitHub and without a database."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from model import catalog
from model.calibration import calibrator_file
from model.calibration.calibrator_file import CalibratorFile
from model.catalog import EngineChoice, VotingChoice
from model.commands import inputs
from model.commands.exit_codes import USAGE_ERRORS, Exit, stop, warn
from model.commands.options import (
    Cache,
    Calibrated,
    EngineName,
    KeyFile,
    LeaveOneOut,
    MinLines,
    Model,
    Script,
    Url,
    Votes,
    choose_engine,
    list_given_options,
    refuse_unused_options,
)
from model.commands.verdict_output import print_verdict, show_progress
from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Verdict
from model.errors import ModelError
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Engine, Verifier
from model.verdict_json import Subject, to_json
from model.voting import leave_one_out_effect
from model.voting.grouping import SEATS

_VERIFY = "verify"

_Issue = Annotated[
    Path, typer.Option("--issue", metavar="FILE", help="The issue; the first line is the title.")
]
_Patches = Annotated[
    list[Path] | None,
    typer.Option("--patch", metavar="FILE", help="A candidate as a unified diff."),
]
_More = Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="The same; - is stdin.")]
_Prompt = Annotated[
    Path | None, typer.Option("--prompt", metavar="FILE", help="Another prompt template.")
]
_Verifier = Annotated[
    str, typer.Option("--verifier", metavar="NAME", help=f"Method: {', '.join(catalog.VERIFIERS)}.")
]
_Trajectories = Annotated[
    list[Path] | None,
    typer.Option(
        "--trajectory",
        metavar="FILE",
        help="How an agent made a patch; one file for each patch, in their order (yes-no-trajectory).",
    ),
]
_StopEarly = Annotated[
    bool, typer.Option("--stop-early", help="Skip votes that cannot change a verdict.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print an r4p.verdict/1 document.")]


def verify(  # noqa: PLR0913 - one parameter per option of the command
    context: typer.Context,
    issue: _Issue,
    patch: _Patches = None,
    more: _More = None,
    votes: Votes = 3,
    engine: EngineName = None,
    engine_url: Url = None,
    model: Model = None,
    api_key_file: KeyFile = None,
    verifier: _Verifier = "r4p",
    trajectory: _Trajectories = None,
    stop_early: _StopEarly = False,
    leave_one_out: LeaveOneOut = False,
    min_lines: MinLines = 0,
    prompt: _Prompt = None,
    script: Script = None,
    cache: Cache = None,
    calibrator: Calibrated = None,
    json_output: _Json = False,
) -> None:
    """Judge candidate patches for one issue against each other.

    Exit codes: 0 a candidate is correct, 2 usage, 3 none is correct, 4 unsure, 5 no engine.
    """
    voting = VotingChoice(stop_early, min_lines, leave_one_out)
    try:
        catalog.check_choice(verifier, voting)
        choice = choose_engine(engine, engine_url, model, api_key_file, script, cache)
        refuse_unused_options(list_given_options(context), verifier, choice.name)
        fitted = calibrator_file.read(calibrator, verifier) if calibrator else None
    except USAGE_ERRORS as error:
        stop(_VERIFY, Exit.USAGE, str(error))
    paths = [*(patch or []), *(more or [])]
    reported, patches = _read_inputs(issue, paths, trajectory or [], verifier)
    _warn_of_tricks(reported, patches)
    _warn_of_few_votes(votes, verifier, len(patches), leave_one_out=leave_one_out)
    if verifier in catalog.ENGINELESS_VERIFIERS:
        verdict = _judge_by_consensus(fitted, reported, patches, min_lines)
    else:
        make = partial(_build_verifier, verifier, prompt, voting, fitted)
        verdict = _judge(choice, make, reported, patches, votes)
    if fitted:
        consensus = partial(catalog.load_consensus(min_lines).verify, reported, patches, votes=0)
        verdict = fitted.calibrate(verdict, consensus)
    calibration = fitted.calibration if fitted else None
    subject = _build_subject(reported, patches)
    document = to_json(verdict, subject, verifier=verifier, calibration=calibration)
    typer.echo(json.dumps(document, indent=2)) if json_output else print_verdict(verdict)
    if caution := describe_caution(verdict.engine):
        warn(_VERIFY, caution)
    raise typer.Exit(choose_exit_code(verdict))


def _build_subject(issue: Issue, patches: Sequence[Patch]) -> Subject:
    texts = [issue.text, *(patch.diff for patch in patches)]
    identity = hashlib.sha256("\0".join(texts).encode(errors="replace"))
    return Subject(title=issue.title, group_id=identity.hexdigest()[:16])


def choose_exit_code(verdict: GroupVerdict) -> Exit:
    """Choose the exit code for a group's verdicts."""
    verdicts = {patch.verdict for patch in verdict.patches}
    if Verdict.CORRECT in verdicts:
        return Exit.OK
    return Exit.NONE_CORRECT if verdicts == {Verdict.INCORRECT} else Exit.UNSURE


def describe_caution(engine: EngineInfo) -> str | None:
    """Return a warning about the embedded models; None for an engine of the user's own."""
    if not engine.name.startswith("local_") or Path(engine.model).is_dir():
        return None
    return (
        f"the embedded {engine.model} only shows how this works; its verdicts are no better than chance. "
        "Give --engine-url for real ones."
    )


def _warn_of_few_votes(votes: int, verifier: str, patches: int, *, leave_one_out: bool) -> None:
    if leave_one_out and votes < (needed := leave_one_out_effect.count_needed_votes(patches)):
        warn(
            _VERIFY,
            f"--leave-one-out needs {needed} votes to find the rivals that change a verdict",
        )
    shows_rivals = not catalog.GROUP_VERIFIERS.isdisjoint(catalog.parse_verifier_name(verifier))
    if votes == 1 and shows_rivals and patches > SEATS:
        warn(
            _VERIFY,
            f"one vote compares each patch with at most {SEATS - 1} rivals; two votes compare it with others too",
        )


def _build_verifier(
    name: str,
    prompt: Path | None,
    voting: VotingChoice,
    fitted: CalibratorFile | None,
    engine: Engine,
) -> Verifier:
    """Build the verifier. Raises IncompatibleOptions when it is not the calibrator's judge."""
    built = catalog.load_verifier(name, engine, prompt=prompt, voting=voting)
    if fitted:
        fitted.check_engine(built.engine)
    return built


def _judge_by_consensus(
    fitted: CalibratorFile | None, issue: Issue, patches: Sequence[Patch], min_lines: int
) -> GroupVerdict:
    consensus = catalog.load_consensus(min_lines)
    try:
        if fitted:
            fitted.check_engine(consensus.engine)
    except USAGE_ERRORS as error:
        stop(_VERIFY, Exit.USAGE, str(error))
    return consensus.verify(issue, patches, votes=0)


def _judge(
    choice: EngineChoice,
    make: Callable[[Engine], Verifier],
    issue: Issue,
    patches: Sequence[Patch],
    votes: int,
) -> GroupVerdict:
    try:
        with show_progress() as show:
            engine = catalog.load_engine(
                replace(choice, on_step=lambda step, done, _total: show(step, done))
            )
            with closing(engine):
                verifier = make(engine)
                show(f"asking {engine.model} for {votes} votes", 0)
                return verifier.verify(
                    issue,
                    patches,
                    votes=votes,
                    on_vote=lambda done, asked: show(f"votes of {asked}:", done),
                )
    except USAGE_ERRORS as error:
        stop(_VERIFY, Exit.USAGE, str(error))
    except ModelError as error:
        stop(_VERIFY, Exit.BACKEND_DOWN, str(error))


def _read_inputs(
    issue: Path, paths: Sequence[Path], trajectories: Sequence[Path], verifier: str
) -> tuple[Issue, list[Patch]]:
    """Read the inputs. An unusable file stops the command before a model is loaded."""
    parts = catalog.parse_verifier_name(verifier)
    try:
        reported = inputs.read_issue(issue)
        patches, notes = inputs.read_patches(paths)
        reads_trajectories = catalog.TRAJECTORY_VERIFIER in parts
        patches = inputs.attach_trajectories(
            patches, trajectories, verifier, reads_trajectories=reads_trajectories
        )
    except inputs.BadInput as error:
        stop(_VERIFY, Exit.USAGE, str(error))
    for note in notes:
        warn(_VERIFY, note)
    return reported, patches


def _warn_of_tricks(issue: Issue, patches: Sequence[Patch]) -> None:
    texts = [("the issue", escape_issue(issue.text))]
    texts += [(f"patch {patch.id}", escape_patch(patch.diff)) for patch in patches]
    texts += [
        (f"trajectory of {patch.id}", escape_patch(patch.trajectory or "")) for patch in patches
    ]
    for where, safe in texts:
        if safe.injections:
            tricks = ", ".join(
                f"{count} × {trick.value.replace('_', ' ')}" for trick, count in safe.injections
            )
            warn(_VERIFY, f"{where}: {tricks} escaped before the model reads it")
