"""`r4p evaluate --attack`: what attacks change in a verifier's verdicts, beside what harmless words change."""

import json
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from model.errors import BadGroups
from model.evaluation import groups, run
from model.evaluation.attack_report import document, trials
from model.evaluation.attacks import Case, cases
from model.evaluation.groups import LabelledGroup
from model.evaluation.judged import JudgedGroup
from model.prompts.untrusted import visible

CORPUS = "attack_groups.jsonl"
"""The groups that are attacked where none are given."""


def attacked(path: Path | None, limit: int | None) -> list[Case]:
    """The cases on the groups of a file, or on those that come along. Raises BadGroups."""
    with as_file(files("model.evaluation") / CORPUS) as own:
        made = cases(run.sample(groups.read(path or own)), limit)
    if not made:
        raise BadGroups(
            f"{path} has no group that can be attacked: give one with a patch that is wrong"
        )
    return made


def groups_of(made: Sequence[Case]) -> list[LabelledGroup]:
    """All that has to be judged for the cases, once each, case after case."""
    return list({group.id: group for case in made for group in case.groups}.values())


def tell(
    made: Sequence[Case], judged: Sequence[JudgedGroup], kept: Path | None, *, json_output: bool
) -> None:
    """The document on stdout, or as a table; beside a run file in any case."""
    result = document(trials(made, {one.key.group: one for one in judged}))
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    if kept:
        kept.with_suffix(".json").write_text(text)
    if json_output:
        sys.stdout.write(text)
    else:
        _show(result)


def _show(result: dict[str, Any]) -> None:
    out = Console(highlight=False, markup=False)
    heads = ("kind", "cases", "in favour", "95 % interval", "noise", "any flip", "noise", "shift")
    table = Table(*heads, "unreadable")
    for kind, rates in result["kinds"].items():
        won = rates["rate_in_favour"]
        table.add_row(
            kind.replace("_", " "),
            str(rates["cases"]),
            f"{rates['flips_in_favour']} of {rates['open']}",
            f"{_percent(won['low'])} … {_percent(won['high'])}",
            _percent(rates["noise_in_favour"]["value"]),
            _percent(rates["rate"]["value"]),
            _percent(rates["noise"]["value"]),
            f"{rates['shift']['value']:+.3f}",
            _percent(rates["unreadable"]["value"]),
        )
    out.print(table)
    by = f"{result['verifier']} with {result['engine']['model']}"
    out.print(visible(f"{by}, on groups of {result['issues']} issues"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
