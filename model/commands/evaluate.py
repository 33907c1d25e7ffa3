"""`r4p evaluate` measures a verifier on labelled groups, offline. A stopped run can continue."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from model.catalog import EngineChoice
from model.commands.evaluate_options import EvaluateOptions
from model.commands.exit_codes import STDERR, exit_on_error
from model.commands.options import accept_options
from model.commands.output import print_evaluation, report_loading, show_progress
from model.errors import BadGroups
from model.prompts.untrusted import escape_invisible

if TYPE_CHECKING:  # numpy loads when the command runs
    from model.calibration.calibrator_file import CalibratorFile
    from model.evaluation.best_of.candidate_sets import CandidateSets
    from model.evaluation.judge_catalog import Judge
    from model.evaluation.judged_group import JudgedGroup
    from model.evaluation.labelled_group import LabelledGroup
    from model.evaluation.trivial_patches import LeftOut
    from model.execution.evidence_record import EvidenceFile

_EVALUATE = "evaluate"


@accept_options(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Measure a verifier on labelled groups of patches, and print the result.

    Exit codes: 0 measured, 2 usage, 5 no engine.
    """
    from model.evaluation import judge_catalog
    from model.evaluation import run_name as run_names
    from model.evaluation.attacks import attack_run
    from model.evaluation.best_of import best_of_document, best_of_run

    verifier, attack = options.verifier, options.attack
    with exit_on_error(_EVALUATE):
        options.check_purpose()
        evidence = options.read_evidence()
        choice, fitted = options.choose_judge(
            verifier, options.voting, has_tests=evidence is not None
        )
        run_name = run_names.build_run_name(
            verifier, options.voting, fitted, shows_code=options.code
        )
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
        _open_judges(options, report_loading(choice, say), fitted, evidence) as judges,
    ):
        say("groups judged")
        used = judges[:1] if options.purpose else judges  # the strict twin is measured on groups
        runs = [_judge_groups(groups, judge, kept, advance, options.together) for judge in used]
    if attack:
        attack_run.write_result(cases, runs[0], kept, json_output=options.json_output)
        return
    caution = _build_cautions(verifier, groups, evidence)
    if drawn:
        document = best_of_document.build_best_of(
            drawn, runs[0], used[0], left_out=left_out, caution=caution
        )
        best_of_run.write_result(document, kept, json_output=options.json_output)
    else:
        _write_result(runs, kept, caution, left_out, json_output=options.json_output)


def _build_cautions(
    verifier: str, groups: "Sequence[LabelledGroup]", evidence: "EvidenceFile | None"
) -> str | None:
    """Return what the reader should know before believing the figures; None for nothing."""
    from model.evaluation import judge_catalog

    patches = [(group.instance_id, each.patch.diff) for group in groups for each in group.patches]
    gaps = evidence.warn_of_gaps(patches) if evidence else None
    training = judge_catalog.build_caution(verifier, groups)
    return " ".join(filter(None, (training, gaps))) or None


@contextmanager
def _open_judges(
    options: EvaluateOptions,
    choice: EngineChoice,
    calibrator: "CalibratorFile | None",
    evidence: "EvidenceFile | None",
) -> "Iterator[tuple[Judge, ...]]":
    from model.commands import gym_code
    from model.evaluation import judge_catalog

    readers = (
        gym_code.open_gym_readers(options.gym) if options.code and options.gym else nullcontext()
    )
    with (
        readers as opened,
        judge_catalog.open_judges(
            options.verifier,
            choice,
            options.votes,
            options.voting,
            prompt=options.prompt,
            independent=not options.attack,
            calibrator=calibrator,
            evidence=evidence,
            readers=opened,
        ) as judges,
    ):
        yield judges


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
        groups = (options.groups or options.gym or Path("corpus")).absolute().name
        name = groups.removesuffix(".gz").removesuffix(".jsonl") + ".pairs" * options.pairs
        kept /= f"{name}.{run_name.replace(':', '-')}{options.purpose}.jsonl"
    if options.attack:
        attack_run.check_run_file(kept)
    if options.best_of:
        best_of_run.check_run_file(kept)
    return kept


def _read_groups(options: EvaluateOptions) -> "tuple[list[LabelledGroup], LeftOut | None]":
    """Return the groups to judge, and what was left out with `--skip-trivial`. Raises BadGroups and BadGym."""
    from model.evaluation import (
        evaluation_run,
        labelled_group,
        regrouping,
        trivial_patches,
    )
    from model.evaluation.gyms import gym_groups

    source = options.gym or options.groups
    if source is None:
        raise BadGroups("no groups are given: name a file with --groups, or a gym with --gym")
    read = gym_groups.read_groups if options.gym else labelled_group.read_groups
    groups, left_out = evaluation_run.sample_groups(read(source)), None
    if options.leaves_out_trivial:
        groups, left_out = trivial_patches.leave_out_trivial(groups)
        if not groups:
            raise BadGroups(
                f"{source} has only patches that --skip-trivial leaves out; leave out this option"
            )
    if options.pairs and not (groups := regrouping.list_pairs(groups)):
        raise BadGroups(
            f"{source} has no group with a correct and an incorrect patch; leave out --pairs"
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
