"""Measure the shipped consensus artefact: `python -m tests.proofs.consensus --data DIR` prints Markdown.

Each group is judged by a fit that never saw its block of issues, or with `strict` its repository.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import combinations, product
from math import isnan
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from typer import Option

from model.evaluation import judge_catalog, labelled_group
from model.evaluation.attacks.attack_document import is_believed
from model.evaluation.attacks.attack_plays import AttackKind
from model.evaluation.attacks.attack_run import load_attack_cases
from model.evaluation.judged_group import JudgedGroup, JudgementKey, build_judged_group
from model.evaluation.judgement_columns import build_columns
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.metrics import METRICS
from model.patches import edits
from model.rivals import consensus_model
from model.rivals.consensus_model import ConsensusModel
from model.rivals.features import compare_edits
from model.verifiers.consensus import ConsensusVerifier, build_holdout
from training.consensus import group_sampling
from training.consensus.feature_table import FeatureTable, Mask, build_table
from training.consensus.fitting import FILES, assign_blocks, fit_expert, load_groups
from training.consensus.group_sampling import GroupKind

SHOWN = ("accuracy", "f1", "exact_match", "best_of_group", "auroc", "brier", "ece")
CLAIMS = ("claimed", "claimed_accuracy", "precision")
SETTINGS = {"count": True, "are one opinion": False}
"""Whether copies count as independent opinions, by name."""
_FEWEST = 40
"""Fewest patches of a system that is left out on its own."""


def judge_held_out(
    groups: Sequence[LabelledGroup], *, strict: bool = False, independent: bool = True
) -> list[JudgedGroup]:
    """Judge each group with the consensus fit that never saw the group's block of issues.

    With `strict`, the fit never saw the group's repository. With `independent`, copies count as agreement of
    independent authors; without it, as one opinion.
    """
    judged_groups = []
    for group in groups:
        verifier: ConsensusVerifier = build_holdout(
            group.repo, group.instance_id, strict=strict, independent=independent
        )
        verdict = verifier.verify(group.issue, [patch.patch for patch in group.patches])
        judged_groups.append(
            build_judged_group(
                group, verdict, JudgementKey(group.id, "consensus", verifier.engine, 0)
            )
        )
    return judged_groups


def compute_metrics(groups: Sequence[JudgedGroup]) -> dict[str, float]:
    """Compute the metrics of judged groups that the report shows, by the names in SHOWN and CLAIMS.

    An undefined metric is NaN.
    """
    columns = build_columns(groups)
    return {name: METRICS[name](columns) for name in (*SHOWN, *CLAIMS)}


def count_copy_wins(*, independent: bool) -> tuple[int, int]:
    """Return the numbers of successful and of possible attacks on consensus that submit copies of a patch.

    An attack succeeds if it moves the belief in its target across 0.5. It is possible if the belief is not on the
    attacker's side already. With `independent`, copies count as agreement of independent authors; without it, as one
    opinion.
    """
    judge = judge_catalog.build_consensus_judge(strict=False, independent=independent)
    won = []
    for case in load_attack_cases(None, None):
        if case.template.kind is AttackKind.COPIES:
            before, after = (
                is_believed(case, judge.judge(group)) for group in (case.twin, case.attacked)
            )
            won += [] if before else [after]
    return sum(won), len(won)


def evaluate_left_out_systems(
    table: FeatureTable,
) -> Iterator[tuple[str, int, float, float, float]]:
    """Compare consensus with and without the training patches of each system that wrote at least 40 patches.

    Yields the system's name, its number of patches, their share of correct ones, the accuracy on them as shipped, and
    the accuracy of a fit without them. Left out patches stay in their groups as unlabelled rivals. The block of each
    issue is held out in both cases.
    """
    artefact = consensus_model.load_shipped()
    given = np.isin(table.kind, [GroupKind.DISTINCT.value, GroupKind.RECIPE.value]) & ~table.is_part
    names, counts = np.unique(table.system[given], return_counts=True)
    for name in names[counts >= _FEWEST].tolist():
        its = given & (table.system == name)
        usual = _compute_accuracy(table, artefact, its, None)
        blind = _compute_accuracy(table, artefact, its, table.system != name)
        yield name, int(its.sum()), float(table.label[its].mean()), usual, blind


def _compute_accuracy(
    table: FeatureTable, artefact: ConsensusModel, rows: Mask, seen: Mask | None
) -> float:
    """Compute the accuracy on `rows`; with `seen`, of experts refitted on those rows outside the held-out block."""
    place, right = assign_blocks(table, artefact.blocks), 0
    for index, block in enumerate(artefact.blocks):
        for name in ("copies", "distinct"):
            here = rows & (place == index) & (table.has_copies == (name == "copies"))
            if here.any():
                expert = getattr(artefact.fits[block.name], name)
                if seen is not None:
                    expert = fit_expert(table, name, seen & (place != index)).expert
                accepted = expert.predict_probability(table.facts[here]) >= 0.5
                right += int((accepted == table.label[here].astype(np.bool_)).sum())
    return right / int(rows.sum())


def measure_seconds(groups: Sequence[LabelledGroup]) -> dict[str, tuple[float, float]]:
    """Measure the CPU seconds per group of consensus verdicts, of edit similarities and of difflib.

    Returns the median and the maximum by the name of the work.
    """
    taken: dict[str, list[float]] = {}
    for group in groups:
        for name, work in _list_timed_work(group).items():
            started = time.process_time()
            work()
            taken.setdefault(name, []).append(time.process_time() - started)
    return {name: (median(times), max(times)) for name, times in taken.items()}


def _list_timed_work(group: LabelledGroup) -> dict[str, Callable[[], object]]:
    """List the callables to time, by name."""
    patches = [patch.patch for patch in group.patches]
    verdicts = {
        f"verdict, copies {copies}": partial(
            build_holdout(group.repo, group.instance_id, independent=independent).verify,
            group.issue,
            patches,
        )
        for copies, independent in SETTINGS.items()
    }
    return {
        **verdicts,
        "likenesses": lambda: [
            compare_edits(*two)
            for two in combinations([edits.read_edit(patch.diff) for patch in patches], 2)
        ],
        "difflib": lambda: [
            SequenceMatcher(None, first.diff, second.diff).ratio()
            for first, second in combinations(patches, 2)
        ],
    }


def _list_attack_rows() -> Iterator[list[str]]:
    for copies, independent in SETTINGS.items():
        won, open_ = count_copy_wins(independent=independent)
        yield [copies, f"{won} of {open_}"]


def _list_metric_rows(data: Path) -> Iterator[list[str]]:
    for kind in ("recipe", "distinct"):
        groups = list(labelled_group.read_groups(data / FILES[kind]))
        for copies, split in product(SETTINGS, ("blocks", "whole repositories")):
            judged = judge_held_out(groups, strict=split != "blocks", independent=SETTINGS[copies])
            shown = [
                "–" if isnan(value) else f"{value:.3f}"
                for value in compute_metrics(judged).values()
            ]
            yield [kind, copies, split, *shown]


def _list_size_rows(data: Path) -> Iterator[list[str]]:
    """Claims about whole groups of both files and about parts of them, copies as one opinion."""
    whole = [
        group
        for kind in ("recipe", "distinct")
        for group in labelled_group.read_groups(data / FILES[kind])
    ]
    groups = [
        *whole,
        *(
            group.group
            for group in group_sampling.sample_parts(
                group_sampling.label_kind(whole, GroupKind.DISTINCT)
            )
        ),
    ]
    for size in sorted({len(group.patches) for group in groups}):
        judged = judge_held_out(
            [group for group in groups if len(group.patches) == size], independent=False
        )
        values = compute_metrics(judged)
        shown = [f"{values[name]:.3f}" for name in ("claimed", "claimed_accuracy")]
        yield [str(size), str(sum(len(group.patches) for group in judged)), *shown]


def main(
    data: Annotated[Path, Option(help="Folder of the labelled groups.")],
    systems: Annotated[
        bool, Option(help="Also leave every system out, which takes minutes.")
    ] = False,
) -> None:
    """Print Markdown tables of the consensus artefact's accuracy, its resistance to attacks and its speed."""
    _print_table(["groups", "copies", "held out", *SHOWN, *CLAIMS], _list_metric_rows(data))
    _print_table(
        ["patches in a group", "patches", "claimed", "claimed_accuracy"], _list_size_rows(data)
    )
    _print_table(["copies", "attacks by copies that win"], _list_attack_rows())
    taken = measure_seconds(list(labelled_group.read_groups(data / FILES["distinct"])))
    spent = ([name, f"{mid * 1e3:.2f}", f"{most * 1e3:.1f}"] for name, (mid, most) in taken.items())
    _print_table(["milliseconds", "median", "worst"], spent)
    if systems:
        left_out = evaluate_left_out_systems(build_table(load_groups(data)))
        shown = (
            [name, str(count), *(f"{share:.3f}" for share in shares)]
            for name, count, *shares in left_out
        )
        _print_table(["system", "patches", "correct", "as shipped", "left out"], shown)


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    typer.echo(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        typer.echo(f"| {' | '.join(row)} |")
    typer.echo()


if __name__ == "__main__":
    typer.run(main)
