"""`r4p evaluate --attack`: what attacks change in a verifier's verdicts, beside what harmless words change."""

import json
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from model.errors import BadGroups, BadRun
from model.evaluation import evaluation_run, labelled_group
from model.evaluation.attacks.attack_cases import Case, cases
from model.evaluation.attacks.attack_document import document, trials
from model.evaluation.attacks.attack_table import FOUND, HEADS, rows
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.labelled_group import LabelledGroup
from model.prompts.untrusted import visible

CORPUS = "attack_groups.jsonl"
"""The groups that are attacked where none are given."""
ENDING = ".attack.jsonl"
"""Of attack runs, by which `r4p report` tells them from measurements."""


def attacked(path: Path | None, limit: int | None) -> list[Case]:
    """The cases on the groups of a file, or on those that come along. Raises BadGroups."""
    with as_file(files("model.evaluation.attacks") / CORPUS) as own:
        made = cases(evaluation_run.sample(labelled_group.read(path or own)), limit)
    if not made:
        raise BadGroups(
            f"{path} has no group that can be attacked: give one with a patch that is wrong"
        )
    return made


def check(kept: Path | None) -> None:
    """Refuse a run file that would be taken for a measurement. Raises BadRun."""
    if kept and not kept.name.endswith(ENDING):
        raise BadRun(
            f"run file {kept} of an attack has to end in {ENDING}: r4p report would count its groups as honest ones; "
            "name it so, or give a folder"
        )


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
    made = rows(FOUND.validate_python(result).kinds)
    columns = (_column(head, cells) for head, *cells in zip(HEADS, *made, strict=True))
    table = Table(*columns, box=SIMPLE_HEAD, padding=0)
    for row in made:
        table.add_row(*row)
    out.print(table)
    by = f"{result['verifier']} with {result['engine']['model']}"
    out.print(visible(f"{by}, on groups of {result['issues']} issues"))


def _column(head: str, cells: Sequence[str]) -> Column:
    """As narrow as its words allow, so that all of them fit on a terminal of 80."""
    spoken = any("," in cell for cell in cells)
    return Column(head, width=None if spoken else max(map(len, (*head.split(), *cells))))
