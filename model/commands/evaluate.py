"""`r4p evaluate` measures a verifier on labelled groups, offline. A stopped run can continue."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from model.catalog import VotingChoice
from model.commands.exit_codes import STDERR, exit_on_error
from model.commands.options import JudgeOptions, accept_options
from model.commands.output import print_evaluation, report_loading, show_progress
from model.errors import BadGroups, IncompatibleOptions
from model.prompts.untrusted import escape_invisible

if TYPE_CHECKING:  # numpy loads when the command runs
    from model.evaluation.judge_catalog import Judge
    from model.evaluation.judged_group import JudgedGroup
    from model.evaluation.labelled_group import LabelledGroup
    from model.evaluation.trivial_patches import LeftOut

_EVALUATE = "evaluate"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(JudgeOptions):
    """Options of `r4p evaluate`."""

    verifier: Annotated[str, Option(metavar="NAME", help="Verifier to measure.")]
    groups: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="File of labelled groups, .jsonl or .jsonl.gz; --attack has its own by default.",
        ),
    ] = None
    limit: Annotated[
        int | None,
        Option(min=1, help="Number of groups or attacks to judge; the same ones each time."),
    ] = None
    together: Annotated[
        int,
        Option(
            metavar="N",
            min=1,
            help="Number of groups to judge at the same time: the run is faster, each group slower.",
        ),
    ] = 1
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR|FILE.jsonl",
            help="Folder or run file to keep judged groups in, and to continue from.",
        ),
    ] = None
    json_output: Annotated[
        bool, Option("--json", help="Print one r4p.evaluate/1 (or r4p.attack/1) document.")
    ] = False
    skip_trivial: Annotated[
        bool,
        Option(
            "--skip-trivial",
            help="Leave out patches that are empty or change only comments or tests, and count them.",
        ),
    ] = False
    attack: Annotated[
        bool, Option("--attack", help="Attack the groups, and report which verdicts flip.")
    ] = False

    @property
    def voting(self) -> VotingChoice:
        """The voting settings that these options choose."""
        return VotingChoice(edited_lines=self.min_lines, leave_one_out=self.leave_one_out)


@accept_options(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Measure a verifier on labelled groups of patches, and print the result.

    Exit codes: 0 measured, 2 usage, 5 no engine.
    """
    from model.evaluation import judge_catalog
    from model.evaluation.attacks import attack_run

    verifier, attack = options.verifier, options.attack
    with exit_on_error(_EVALUATE):
        choice, fitted = options.choose_judge(verifier, options.voting)
        run_name = judge_catalog.build_run_name(verifier, options.voting, fitted)
        kept = _choose_run_file(options.out, options.groups, run_name + ".attack" * attack)
        if attack:
            _check_attack(options)
            attack_run.check_run_file(kept)
        cases = attack_run.load_attack_cases(options.groups, options.limit) if attack else []
        groups, left_out = _read_groups(options, attack_run.list_groups(cases))
        judge_catalog.check_trajectories(verifier, groups)
    with (
        exit_on_error(_EVALUATE, hint=partial(_describe_kept, kept)),
        show_progress(len(groups)) as (say, advance),
        judge_catalog.open_judges(
            verifier,
            report_loading(choice, say),
            options.votes,
            options.voting,
            independent=not attack,
            calibrator=fitted,
        ) as judges,
    ):
        say("groups judged")
        used = judges[:1] if attack else judges  # the strict twin is not attacked
        runs = [_judge_groups(groups, judge, kept, advance, options.together) for judge in used]
    if attack:
        attack_run.write_result(cases, runs[0], kept, json_output=options.json_output)
    else:
        caution = judge_catalog.build_caution(verifier, groups)
        _write_result(runs, kept, caution, left_out, json_output=options.json_output)


def _describe_kept(kept: Path | None) -> str:
    """Say where to continue when anything was judged."""
    return f"; what was judged is in {kept}: run again to go on" if kept and kept.exists() else ""


def _choose_run_file(out: Path | None, groups: Path | None, verifier: str) -> Path | None:
    """Choose the run file. A folder gets one file per file of groups and verifier."""
    if out is None or out.suffix == ".jsonl":
        return out
    name = (groups or Path("corpus")).name.removesuffix(".gz").removesuffix(".jsonl")
    return out / f"{name}.{verifier.replace(':', '-')}.jsonl"


def _check_attack(options: EvaluateOptions) -> None:
    if options.skip_trivial:
        raise IncompatibleOptions("an attack needs all patches; leave out --skip-trivial")


def _read_groups(
    options: EvaluateOptions, attacked: "list[LabelledGroup]"
) -> "tuple[list[LabelledGroup], LeftOut | None]":
    """Return the groups to judge, and what was left out with `--skip-trivial`."""
    from model.evaluation import evaluation_run, labelled_group, trivial_patches

    if options.attack:
        return attacked, None
    if options.groups is None:
        raise BadGroups("no groups are given: name a file with --groups")
    groups = labelled_group.read_groups(options.groups)
    if not options.skip_trivial:
        return evaluation_run.sample_groups(groups, options.limit), None
    kept, left_out = trivial_patches.leave_out_trivial(evaluation_run.sample_groups(groups))
    if not kept:
        raise BadGroups(
            f"{options.groups} has only patches that --skip-trivial leaves out; leave out this option"
        )
    return evaluation_run.sample_groups(kept, options.limit), left_out


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
    left_out: "LeftOut | None",
    *,
    json_output: bool,
) -> None:
    """Show the run of the first judge, and that of the strict judge of consensus where there is one."""
    from model.evaluation.evaluation_document import build_document

    result, *twin = map(build_document, runs)
    if twin:
        result["strict"] = twin[0]
    if left_out:
        result["left_out"] = asdict(left_out)
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
