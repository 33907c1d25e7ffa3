"""Run `r4p evaluate --attack`: compare verdicts on attacked groups with verdicts on harmless twins."""

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
from model.evaluation.attacks.attack_cases import AttackCase, build_cases
from model.evaluation.attacks.attack_document import build_attack_document, pair_trials
from model.evaluation.attacks.attack_table import COLUMN_NAMES, DOCUMENT_ADAPTER, build_rows
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.labelled_group import LabelledGroup
from model.prompts.untrusted import escape_invisible

CORPUS = "attack_groups.jsonl"
"""File of the groups that are attacked by default."""
RUN_FILE_SUFFIX = ".attack.jsonl"
"""Suffix of attack runs. `r4p report` uses it to tell them from measurements."""


def load_attack_cases(path: Path | None, limit: int | None) -> list[AttackCase]:
    """Build at most `limit` attack cases for the labelled groups in the file `path`; all if `limit` is None.

    Without `path`, the package's own labelled groups are used. Raises BadGroups for a bad file, or when no group has a
    wrong patch.
    """
    with as_file(files("model.evaluation.attacks") / CORPUS) as own:
        cases = build_cases(
            evaluation_run.sample_groups(labelled_group.read_groups(path or own)), limit
        )
    if not cases:
        raise BadGroups(
            f"{path} has no group that can be attacked: give one with a patch that is wrong"
        )
    return cases


def check_run_file(run_file: Path | None) -> None:
    """Raise BadRun when the name of `run_file` does not end in RUN_FILE_SUFFIX. None is accepted."""
    if run_file and not run_file.name.endswith(RUN_FILE_SUFFIX):
        raise BadRun(
            f"run file {run_file} of an attack has to end in {RUN_FILE_SUFFIX}: r4p report would count its groups as honest ones; "
            "name it so, or give a folder"
        )


def list_groups(cases: Sequence[AttackCase]) -> list[LabelledGroup]:
    """List the groups to judge for these attack cases, each once, in the order of the cases."""
    return list({group.id: group for case in cases for group in case.groups}.values())


def write_result(
    cases: Sequence[AttackCase],
    judged: Sequence[JudgedGroup],
    run_file: Path | None,
    *,
    json_output: bool,
) -> None:
    """Print the result of the attacks on stdout, as JSON with `json_output`, else as a table.

    `judged` has the judgement of every group of the cases. The JSON is also stored beside `run_file`, with the suffix
    `.json`; nothing is stored if `run_file` is None.
    """
    result = build_attack_document(pair_trials(cases, {group.key.group: group for group in judged}))
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    if run_file:
        run_file.with_suffix(".json").write_text(text)
    if json_output:
        sys.stdout.write(text)
    else:
        _print_table(result)


def _print_table(result: dict[str, Any]) -> None:
    out = Console(highlight=False, markup=False)
    table_rows = build_rows(DOCUMENT_ADAPTER.validate_python(result).kinds)
    columns = (
        _build_column(head, cells) for head, *cells in zip(COLUMN_NAMES, *table_rows, strict=True)
    )
    table = Table(*columns, box=SIMPLE_HEAD, padding=0)
    for row in table_rows:
        table.add_row(*row)
    out.print(table)
    judge_name = f"{result['verifier']} with {result['engine']['model']}"
    out.print(escape_invisible(f"{judge_name}, on groups of {result['issues']} issues"))


def _build_column(head: str, cells: Sequence[str]) -> Column:
    """Build a column that is as narrow as its words, so that the table fits 80 characters."""
    spoken = any("," in cell for cell in cells)
    return Column(head, width=None if spoken else max(map(len, (*head.split(), *cells))))
