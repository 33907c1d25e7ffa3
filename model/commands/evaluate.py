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
    from model.evaluation.best_of.candidate_sets import CandidateSets
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
        Option(
            min=1,
            help="Number of groups, pairs, attacks or issues of --best-of; the same ones each time.",
        ),
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
        bool,
        Option("--json", help="Print one r4p.evaluate/1 (r4p.best-of/1, r4p.attack/1) document."),
    ] = False
    skip_trivial: Annotated[
        bool | None,
        Option(
            "--skip-trivial/--keep-trivial",
            help="Leave out patches that are empty or change only comments or tests, and count them. "
            "Default: kept, but left out with --pairs.",
        ),
    ] = None
    best_of: Annotated[
        str | None,
        Option(
            metavar="K,K,…",
            help="Draw K candidates of each issue, judge them anew, and report how often the choice is correct.",
        ),
    ] = None
    draws: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="With --best-of, most draws of one issue at one K; 4 by default.",
        ),
    ] = None
    pairs: Annotated[
        bool,
        Option(
            "--pairs",
            help="Judge each pair of a correct and an incorrect patch alone, as the R4P paper does.",
        ),
    ] = False
    attack: Annotated[
        bool, Option("--attack", help="Attack the groups, and report which verdicts flip.")
    ] = False

    @property
    def voting(self) -> VotingChoice:
        """The voting settings that these options choose."""
        return VotingChoice(edited_lines=self.min_lines, leave_one_out=self.leave_one_out)

    @property
    def leaves_out_trivial(self) -> bool:
        """Whether trivial patches are left out. Pairs are the paper's, so they leave them out by default."""
        return self.pairs if self.skip_trivial is None else self.skip_trivial

    @property
    def purpose(self) -> str:
        """Suffix of the run file's name for `--attack` and `--best-of`, else empty."""
        return ".attack" * self.attack + ".best-of" * (self.best_of is not None)

    def check_purpose(self) -> None:
        """Raise IncompatibleOptions for options that do not go together."""
        purposes = {"--attack": self.attack, "--best-of": self.best_of, "--pairs": self.pairs}
        chosen = [name for name, value in purposes.items() if value]
        if len(chosen) > 1:
            raise IncompatibleOptions(
                f"{' and '.join(chosen)} ask for different measurements; choose one of them"
            )
        if self.draws and self.best_of is None:
            raise IncompatibleOptions("--draws does nothing without --best-of; leave it out")
        if self.attack and self.skip_trivial:
            raise IncompatibleOptions("an attack needs all patches; leave out --skip-trivial")


@accept_options(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Measure a verifier on labelled groups of patches, and print the result.

    Exit codes: 0 measured, 2 usage, 5 no engine.
    """
    from model.evaluation import judge_catalog
    from model.evaluation.attacks import attack_run
    from model.evaluation.best_of import best_of_document, best_of_run

    verifier, attack = options.verifier, options.attack
    with exit_on_error(_EVALUATE):
        options.check_purpose()
        choice, fitted = options.choose_judge(verifier, options.voting)
        run_name = judge_catalog.build_run_name(verifier, options.voting, fitted)
        kept = _choose_run_file(options, run_name)
        cases = attack_run.load_attack_cases(options.groups, options.limit) if attack else []
        groups, left_out = (
            (attack_run.list_groups(cases), None) if attack else _read_groups(options)
        )
        drawn = _draw_sets(options, groups)
        groups = drawn.to_judge if drawn else groups
        judge_catalog.check_trajectories(verifier, groups)
    with (
        exit_on_error(_EVALUATE, hint=partial(_describe_kept, kept)),
        show_progress(len(groups)) as (say, advance),
        judge_catalog.open_judges(
            verifier,
            report_loading(choice, say),
            options.votes,
            options.voting,
            prompt=options.prompt,
            independent=not attack,
            calibrator=fitted,
        ) as judges,
    ):
        say("groups judged")
        used = judges[:1] if options.purpose else judges  # the strict twin is measured on groups
        runs = [_judge_groups(groups, judge, kept, advance, options.together) for judge in used]
    if attack:
        attack_run.write_result(cases, runs[0], kept, json_output=options.json_output)
        return
    caution = judge_catalog.build_caution(verifier, groups)
    if drawn:
        document = best_of_document.build_best_of(
            drawn, runs[0], used[0], left_out=left_out, caution=caution
        )
        best_of_run.write_result(document, kept, json_output=options.json_output)
    else:
        _write_result(runs, kept, caution, left_out, json_output=options.json_output)


def _describe_kept(kept: Path | None) -> str:
    """Say where to continue when anything was judged."""
    return f"; what was judged is in {kept}: run again to go on" if kept and kept.exists() else ""


def _choose_run_file(options: EvaluateOptions, run_name: str) -> Path | None:
    """Choose the run file. A folder gets one file per file of groups, verifier and purpose.

    Raises BadRun when a named file does not say its purpose, so that `r4p report` would misread it.
    """
    from model.evaluation.attacks import attack_run
    from model.evaluation.best_of import best_of_run

    kept = options.out
    if kept is not None and kept.suffix != ".jsonl":
        groups = (options.groups or Path("corpus")).name
        name = groups.removesuffix(".gz").removesuffix(".jsonl") + ".pairs" * options.pairs
        kept /= f"{name}.{run_name.replace(':', '-')}{options.purpose}.jsonl"
    if options.attack:
        attack_run.check_run_file(kept)
    if options.best_of:
        best_of_run.check_run_file(kept)
    return kept


def _read_groups(options: EvaluateOptions) -> "tuple[list[LabelledGroup], LeftOut | None]":
    """Return the groups to judge, and what was left out with `--skip-trivial`."""
    from model.evaluation import evaluation_run, labelled_group, regrouping, trivial_patches

    if options.groups is None:
        raise BadGroups("no groups are given: name a file with --groups")
    groups, left_out = (
        evaluation_run.sample_groups(labelled_group.read_groups(options.groups)),
        None,
    )
    if options.leaves_out_trivial:
        groups, left_out = trivial_patches.leave_out_trivial(groups)
        if not groups:
            raise BadGroups(
                f"{options.groups} has only patches that --skip-trivial leaves out; leave out this option"
            )
    if options.pairs and not (groups := regrouping.list_pairs(groups)):
        raise BadGroups(
            f"{options.groups} has no group with a correct and an incorrect patch; leave out --pairs"
        )
    return evaluation_run.sample_groups(groups, options.limit), left_out


def _draw_sets(
    options: EvaluateOptions, groups: "Sequence[LabelledGroup]"
) -> "CandidateSets | None":
    """Draw the sets of candidates for `--best-of`, and say what they cost; None without the option."""
    from model.evaluation.best_of import best_of_run, candidate_sets

    if options.best_of is None:
        return None
    sizes = candidate_sets.parse_sizes(options.best_of)
    drawn = candidate_sets.draw_sets(groups, sizes, options.draws or candidate_sets.DRAWS)
    STDERR.print(best_of_run.describe_cost(drawn, options.verifier, options.votes))
    return drawn


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
