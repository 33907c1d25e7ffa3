"""Show and store the result of `r4p evaluate --best-of`."""

import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from model.errors import BadRun
from model.evaluation.best_of.best_of_document import DOCUMENT_ADAPTER, BestOfDocument
from model.evaluation.best_of.candidate_sets import CandidateSets
from model.evaluation.bootstrap import Estimate
from model.prompts.untrusted import escape_invisible

RUN_FILE_SUFFIX = ".best-of.jsonl"
"""Suffix of these runs. `r4p report` uses it to tell them from measurements on whole groups."""
_COLUMNS = ("K", "issues", "too few", "sets", "unknown", "resolved", "95 %", "random", "oracle", "gain", "95 %")  # fmt: skip


def check_run_file(run_file: Path | None) -> None:
    """Raise BadRun when the name of `run_file` does not end in RUN_FILE_SUFFIX. None is accepted."""
    if run_file and not run_file.name.endswith(RUN_FILE_SUFFIX):
        raise BadRun(
            f"run file {run_file} of --best-of has to end in {RUN_FILE_SUFFIX}: r4p report would take its sets for whole "
            "groups; name it so, or give a folder"
        )


def describe_cost(drawn: CandidateSets, verifier: str, votes: int) -> str:
    """Describe how many sets the verifier judges, and how many requests to the engine that takes at most."""
    counts = ", ".join(f"{len(sets):,} of {size}" for size, sets in drawn.sets.items() if size > 1)
    requests = drawn.count_requests(verifier, votes)
    return (
        f"{len(drawn.to_judge):,} sets to judge ({counts or 'none'}), about {requests:,} requests to the engine; "
        "sets in the run file are not judged again"
    )


def write_result(result: BestOfDocument, run_file: Path | None, *, json_output: bool) -> None:
    """Print the result on stdout, as JSON with `json_output`, else as a table.

    The JSON is also stored beside `run_file`, with the suffix `.json`; nothing is stored if `run_file` is None.
    """
    text = DOCUMENT_ADAPTER.dump_json(result, indent=2, exclude_none=False).decode() + "\n"
    if run_file:
        run_file.with_suffix(".json").write_text(text)
    if json_output:
        sys.stdout.write(text)
    else:
        _print_table(result)


def _print_table(result: BestOfDocument) -> None:
    out = Console(highlight=False, markup=False)
    table = Table(*_COLUMNS, box=SIMPLE_HEAD, padding=0)
    for point in result.points:
        counts = (point.k, point.issues, point.too_few, point.sets, point.unknown)
        table.add_row(
            *map(str, counts),
            *_format_estimate(point.resolved),
            _format_number(point.random.value),
            _format_number(point.oracle.value),
            *_format_estimate(point.gain),
        )
    out.print(table)
    out.print(
        escape_invisible(
            f"{result.verifier} with {result.engine.model}: share of issues resolved by the chosen of K candidates, judged "
            f"anew for each K (R4P, section 5.2, figure 4); {result.issues} issues, up to {result.draws} draws of each"
        )
    )


def _format_estimate(estimate: Estimate) -> tuple[str, str]:
    # two digits keep the table within 80 characters
    interval = f"{_format_number(estimate.low, 2)}…{_format_number(estimate.high, 2)}"
    return _format_number(estimate.value), interval


def _format_number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
