"""`r4p evaluate` measures a verifier on labelled groups, offline. A stopped run can continue."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from model import catalog
from model.calibration import calibrator_file
from model.catalog import EngineChoice, VotingChoice
from model.commands.evaluation_output import print_evaluation, show_progress
from model.commands.exit_codes import STDERR, USAGE_ERRORS, Exit, stop
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
from model.errors import BadGroups, ModelError
from model.prompts.untrusted import escape_invisible

if TYPE_CHECKING:  # numpy loads when the command runs
    from model.evaluation.attacks.attack_cases import AttackCase
    from model.evaluation.judge_catalog import Judge
    from model.evaluation.judged_group import JudgedGroup
    from model.evaluation.labelled_group import LabelledGroup

_EVALUATE = "evaluate"
_Groups = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        metavar="FILE",
        help="File of labelled groups, .jsonl or .jsonl.gz; --attack has its own by default.",
    ),
]
_Verifier = Annotated[str, typer.Option("--verifier", metavar="NAME", help="Verifier to measure.")]
_Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", min=1, help="Number of groups or attacks to judge; the same ones each time."
    ),
]
_Together = Annotated[
    int,
    typer.Option(
        "--together",
        metavar="N",
        min=1,
        help="Number of groups to judge at the same time: the run is faster, each group slower.",
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR|FILE.jsonl",
        help="Folder or run file to keep judged groups in, and to continue from.",
    ),
]
_Attack = Annotated[
    bool, typer.Option("--attack", help="Attack the groups, and report which verdicts flip.")
]
_Json = Annotated[
    bool, typer.Option("--json", help="Print one r4p.evaluate/1 (or r4p.attack/1) document.")
]


def evaluate(  # noqa: PLR0913 - one parameter per option of the command
    context: typer.Context,
    verifier: _Verifier,
    groups: _Groups = None,
    limit: _Limit = None,
    together: _Together = 1,
    votes: Votes = 3,
    engine: EngineName = None,
    engine_url: Url = None,
    model: Model = None,
    api_key_file: KeyFile = None,
    out: _Out = None,
    json_output: _Json = False,
    script: Script = None,
    cache: Cache = None,
    attack: _Attack = False,
    leave_one_out: LeaveOneOut = False,
    min_lines: MinLines = 0,
    calibrator: Calibrated = None,
) -> None:
    """Measure a verifier on labelled groups of patches.

    Exit codes: 0 measured, 2 usage, 5 no engine.
    """
    from model.evaluation import judge_catalog

    voting = VotingChoice(edited_lines=min_lines, leave_one_out=leave_one_out)
    kept: Path | None = None
    try:
        catalog.check_choice(verifier, voting)
        fitted = calibrator_file.read(calibrator, verifier) if calibrator else None
        kept = _choose_run_file(
            out, groups, judge_catalog.build_run_name(verifier, voting, fitted) + ".attack" * attack
        )
        choice = choose_engine(engine, engine_url, model, api_key_file, script, cache)
        refuse_unused_options(list_given_options(context), verifier, choice.name)
        cases, read = (
            _build_attacks(groups, limit, kept) if attack else ([], _read_groups(groups, limit))
        )
        judge_catalog.check_trajectories(verifier, read)
        open_judges = partial(judge_catalog.open_judges, verifier, votes=votes, voting=voting)
        open_fitted = partial(open_judges, independent=not attack, calibrator=fitted)
        runs = _run_judges(open_fitted, choice, read, kept, together, strict_twin=not attack)
    except USAGE_ERRORS as error:
        stop(_EVALUATE, Exit.USAGE, str(error))
    except ModelError as error:
        stop(_EVALUATE, Exit.BACKEND_DOWN, f"{error}{_describe_kept(kept)}")
    if attack:
        _write_attacks(cases, runs[0], kept, json_output=json_output)
    else:
        _write_result(
            runs, kept, judge_catalog.build_caution(verifier, read), json_output=json_output
        )


def _write_attacks(
    cases: "Sequence[AttackCase]",
    judged: "Sequence[JudgedGroup]",
    kept: Path | None,
    *,
    json_output: bool,
) -> None:
    from model.evaluation.attacks import attack_run

    attack_run.write_result(cases, judged, kept, json_output=json_output)


def _describe_kept(kept: Path | None) -> str:
    """Say where to continue when anything was judged."""
    return f"; what was judged is in {kept}: run again to go on" if kept and kept.exists() else ""


def _choose_run_file(out: Path | None, groups: Path | None, verifier: str) -> Path | None:
    """Choose the run file. A folder gets one file per file of groups and verifier."""
    if out is None or out.suffix == ".jsonl":
        return out
    name = (groups or Path("corpus")).name.removesuffix(".gz").removesuffix(".jsonl")
    return out / f"{name}.{verifier.replace(':', '-')}.jsonl"


def _build_attacks(
    path: Path | None, limit: int | None, kept: Path | None
) -> "tuple[list[AttackCase], list[LabelledGroup]]":
    from model.evaluation.attacks import attack_run

    attack_run.check_run_file(kept)
    cases = attack_run.load_attack_cases(path, limit)
    return cases, attack_run.list_groups(cases)


def _read_groups(path: Path | None, limit: int | None) -> "list[LabelledGroup]":
    from model.evaluation import evaluation_run, labelled_group

    if path is None:
        raise BadGroups("no groups are given: name a file with --groups")
    return evaluation_run.sample_groups(labelled_group.read_groups(path), limit)


def _run_judges(
    open_judges: "Callable[[EngineChoice], AbstractContextManager[Sequence[Judge]]]",
    choice: EngineChoice,
    groups: "Sequence[LabelledGroup]",
    kept: Path | None,
    together: int,
    *,
    strict_twin: bool,
) -> "list[list[JudgedGroup]]":
    """Judge the groups with each judge, or without `strict_twin` with the first only, and show the progress."""
    with show_progress(len(groups)) as (say, advance):
        reporting = replace(choice, on_step=lambda step, done, _total: say(f"{step} {done or ''}"))
        with open_judges(reporting) as judges:
            say("groups judged")
            used = judges if strict_twin else judges[:1]
            return [_judge_groups(groups, judge, kept, advance, together) for judge in used]


def _judge_groups(
    groups: "Sequence[LabelledGroup]",
    judge: "Judge",
    kept: Path | None,
    advance: Callable[[int], None],
    together: int,
) -> "list[JudgedGroup]":
    from model.evaluation import evaluation_run, run_file

    with run_file.open_run_file(kept) if kept else nullcontext() as file:
        return evaluation_run.judge_groups(groups, judge, file, advance, concurrency=together)


def _write_result(
    runs: "Sequence[Sequence[JudgedGroup]]",
    kept: Path | None,
    caution: str | None,
    *,
    json_output: bool,
) -> None:
    """Show the run of the first judge, and that of the strict judge of consensus where there is one."""
    from model.evaluation.evaluation_document import build_document

    result, *twin = map(build_document, runs)
    if twin:
        result["strict"] = twin[0]
    if caution:
        result["caution"] = caution
        STDERR.print(escape_invisible(caution))
    text = json.dumps(result, indent=2) + "\n"
    if kept:
        kept.with_suffix(".json").write_text(text)
    if json_output:
        sys.stdout.write(text)
    else:
        for document in (result, *twin):
            print_evaluation(document)
