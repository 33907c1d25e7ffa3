"""Measures the shipped consensus artefact: `python -m training.consensus.report --data DIR` prints Markdown tables.

Every group is judged by the fit that never saw its block of issues (or, strictly, its repository).
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

from model.evaluation import judge_catalog, labelled_group
from model.evaluation.attacks.attack_document import is_believed
from model.evaluation.attacks.attack_plays import AttackKind as AttackKind
from model.evaluation.attacks.attack_run import attacked
from model.evaluation.judged_group import JudgedGroup, JudgementKey, judged
from model.evaluation.judgement_columns import columns
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.metrics import METRICS
from model.patches import edits
from model.rivals import consensus_model
from model.rivals.consensus_model import ConsensusModel
from model.rivals.features import likeness
from model.verifiers.consensus import ConsensusVerifier, unseeing
from training.consensus import group_sampling
from training.consensus.feature_table import Mask, Table, table
from training.consensus.fitting import FILES, block_of_rows, learn_expert, load
from training.consensus.group_sampling import Kind

SHOWN = ("accuracy", "f1", "exact_match", "best_of_group", "auroc", "brier", "ece")
CLAIMS = ("claimed", "claimed_accuracy", "precision")
SETTINGS = {"count": True, "are one opinion": False}
"""How copies count, and whether that takes authors for independent."""
_FEWEST = 40
"""A system with fewer patches is not left out on its own."""


def judge(
    of: Sequence[LabelledGroup], *, strict: bool = False, independent: bool = True
) -> list[JudgedGroup]:
    """Each group judged by the fit that never saw its block; with `strict`, never its repository."""
    found = []
    for group in of:
        verifier: ConsensusVerifier = unseeing(
            group.repo, group.instance_id, strict=strict, independent=independent
        )
        verdict = verifier.verify(group.issue, [one.patch for one in group.patches])
        found.append(
            judged(group, verdict, JudgementKey(group.id, "consensus", verifier.engine, 0))
        )
    return found


def figures(of: Sequence[JudgedGroup]) -> dict[str, float]:
    """The metrics of SHOWN and CLAIMS."""
    every = columns(of)
    return {name: METRICS[name](every) for name in (*SHOWN, *CLAIMS)}


def won_by_copies(*, independent: bool) -> tuple[int, int]:
    """Attacks by copies: those that move a belief across a half the attacker's way, and those that could."""
    judge = judge_catalog.consensus(strict=False, independent=independent)
    won = []
    for case in attacked(None, None):
        if case.play.kind is AttackKind.COPIES:
            before, after = (
                is_believed(case, judge.judge(one)) for one in (case.twin, case.attacked)
            )
            won += [] if before else [after]
    return sum(won), len(won)


def systems_left_out(of: Table) -> Iterator[tuple[str, int, float, float, float]]:
    """Per system: patches, their share of correct ones, accuracy as shipped, and without its labels in training.

    Its patches stay in the training groups as unlabelled rivals. The block of each issue is held out as ever.
    """
    artefact = consensus_model.shipped()
    given = np.isin(of.kind, [Kind.DISTINCT.value, Kind.RECIPE.value]) & ~of.part
    names, counts = np.unique(of.system[given], return_counts=True)
    for name in names[counts >= _FEWEST].tolist():
        its = given & (of.system == name)
        usual = _accuracy(of, artefact, its, None)
        blind = _accuracy(of, artefact, its, of.system != name)
        yield name, int(its.sum()), float(of.label[its].mean()), usual, blind


def _accuracy(of: Table, artefact: ConsensusModel, rows: Mask, seen: Mask | None) -> float:
    """Accuracy on `rows`; with `seen`, of experts fitted anew on those rows outside the held-out block."""
    place, right = block_of_rows(of, artefact.blocks), 0
    for at, block in enumerate(artefact.blocks):
        for name in ("copies", "distinct"):
            here = rows & (place == at) & (of.copies == (name == "copies"))
            if here.any():
                expert = getattr(artefact.fits[block.name], name)
                if seen is not None:
                    expert = learn_expert(of, name, seen & (place != at)).expert
                said = expert.probability(of.facts[here]) >= 0.5
                right += int((said == of.label[here].astype(np.bool_)).sum())
    return right / int(rows.sum())


def seconds(of: Sequence[LabelledGroup]) -> dict[str, tuple[float, float]]:
    """Median and worst CPU seconds per group: verdicts as measured and in the bot, likenesses, difflib on characters."""
    taken: dict[str, list[float]] = {}
    for group in of:
        for name, work in _works(group).items():
            started = time.process_time()
            work()
            taken.setdefault(name, []).append(time.process_time() - started)
    return {name: (median(each), max(each)) for name, each in taken.items()}


def _works(group: LabelledGroup) -> dict[str, Callable[[], object]]:
    """What is timed, ready to run."""
    patches = [one.patch for one in group.patches]
    verdicts = {
        f"verdict, copies {copies}": partial(
            unseeing(group.repo, group.instance_id, independent=independent).verify,
            group.issue,
            patches,
        )
        for copies, independent in SETTINGS.items()
    }
    return {
        **verdicts,
        "likenesses": lambda: [
            likeness(*two) for two in combinations([edits.read(one.diff) for one in patches], 2)
        ],
        "difflib": lambda: [
            SequenceMatcher(None, one.diff, other.diff).ratio()
            for one, other in combinations(patches, 2)
        ],
    }


def _attacked() -> Iterator[list[str]]:
    for copies, independent in SETTINGS.items():
        won, open_ = won_by_copies(independent=independent)
        yield [copies, f"{won} of {open_}"]


def _measured(data: Path) -> Iterator[list[str]]:
    for kind in ("recipe", "distinct"):
        every = list(labelled_group.read(data / FILES[kind]))
        for copies, split in product(SETTINGS, ("blocks", "whole repositories")):
            judged = judge(every, strict=split != "blocks", independent=SETTINGS[copies])
            shown = ["–" if isnan(one) else f"{one:.3f}" for one in figures(judged).values()]
            yield [kind, copies, split, *shown]


def _by_size(data: Path) -> Iterator[list[str]]:
    """Claims about whole groups of both files and about parts of them, copies as one opinion."""
    whole = [
        one for kind in ("recipe", "distinct") for one in labelled_group.read(data / FILES[kind])
    ]
    every = [
        *whole,
        *(one.group for one in group_sampling.parts(group_sampling.given(whole, Kind.DISTINCT))),
    ]
    for size in sorted({len(one.patches) for one in every}):
        of = judge([one for one in every if len(one.patches) == size], independent=False)
        found = figures(of)
        shown = [f"{found[name]:.3f}" for name in ("claimed", "claimed_accuracy")]
        yield [str(size), str(sum(len(one.patches) for one in of)), *shown]


def main(
    data: Annotated[Path, typer.Option(help="Folder of the labelled groups.")],
    systems: Annotated[
        bool, typer.Option(help="Also leave every system out, which takes minutes.")
    ] = False,
) -> None:
    """Print what the artefact reaches."""
    _echo(["groups", "copies", "held out", *SHOWN, *CLAIMS], _measured(data))
    _echo(["patches in a group", "patches", "claimed", "claimed_accuracy"], _by_size(data))
    _echo(["copies", "attacks by copies that win"], _attacked())
    taken = seconds(list(labelled_group.read(data / FILES["distinct"])))
    spent = ([name, f"{mid * 1e3:.2f}", f"{most * 1e3:.1f}"] for name, (mid, most) in taken.items())
    _echo(["milliseconds", "median", "worst"], spent)
    if systems:
        left_out = systems_left_out(table(load(data)))
        shown = (
            [name, str(count), *(f"{one:.3f}" for one in shares)]
            for name, count, *shares in left_out
        )
        _echo(["system", "patches", "correct", "as shipped", "left out"], shown)


def _echo(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    typer.echo(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        typer.echo(f"| {' | '.join(row)} |")
    typer.echo()


if __name__ == "__main__":
    typer.run(main)
