"""Read the folder of a report: run files, attack documents, and notes about problems."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from model.errors import BadRun
from model.evaluation import run_file
from model.evaluation.attacks.attack_document import SCHEMA
from model.evaluation.attacks.attack_run import RUN_FILE_SUFFIX
from model.evaluation.attacks.attack_table import DOCUMENT_ADAPTER, AttackDocument
from model.evaluation.judged_group import JudgedGroup


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The input of an evaluation report: run files, attack documents, and notes about problems."""

    runs: tuple[tuple[str, list[JudgedGroup]], ...]
    """Name and judged groups of each run file."""
    attacks: tuple[tuple[str, AttackDocument], ...]
    """For each finished attack run, the name of its file of groups, and its attack document."""
    notes: tuple[str, ...]
    """Problems with the files, such as an unfinished run."""


def read_report_input(folder: Path) -> ReportInput:
    """Read all run files and attack documents of a folder, as the input of an evaluation report.

    Raises BadRun when the folder has no judged groups apart from attacks, or when a file is unreadable.
    """
    if not folder.is_dir():
        raise BadRun(f"{folder} is no folder; give the --out folder of r4p evaluate")
    paths = sorted(folder.glob("*.jsonl"))
    attacked = [path for path in paths if path.name.endswith(RUN_FILE_SUFFIX)]
    notes: list[str] = []
    runs = tuple(_read_runs([path for path in paths if path not in attacked], notes))
    attacks = tuple(_read_attacks(attacked, notes))
    if not runs:
        problem = " ".join(notes) or f"it has no .jsonl file{' but of attacks' if attacks else ''}."
        raise BadRun(
            f"nothing to report in {folder}: {problem} Write run files there with: r4p evaluate --out {folder}"
        )
    return ReportInput(runs, attacks, tuple(notes))


def _read_runs(paths: list[Path], notes: list[str]) -> Iterator[tuple[str, list[JudgedGroup]]]:
    for path in paths:
        judged = run_file.read_sorted(path)
        if run_file.count_unfinished_bytes(path):
            notes.append(
                f"{path.name}: the last line is half written, and was left out. Its run was killed or still goes on; "
                "the same r4p evaluate again completes it."
            )
        if judged:
            yield path.name, judged
        else:
            notes.append(f"{path.name} holds no judged group yet, and was left out.")


def _read_attacks(paths: list[Path], notes: list[str]) -> Iterator[tuple[str, AttackDocument]]:
    """Yield the attack documents beside the run files. Only these hold the attackers' goals."""
    for path in paths:
        document = path.with_suffix(".json")
        if document.exists():
            name = path.name.removesuffix(RUN_FILE_SUFFIX).rpartition(".")[0]
            yield name, _read_document(document)
        else:
            notes.append(
                f"{path.name}: its attacks have not all been judged, and were left out; the same r4p evaluate --attack "
                "again completes them."
            )


def _read_document(document: Path) -> AttackDocument:
    try:
        return DOCUMENT_ADAPTER.validate_json(document.read_bytes())
    except OSError as error:
        raise BadRun(f"{document} can't be read: {error.strerror}") from error
    except ValidationError as error:
        raise BadRun(
            f"{document} is no {SCHEMA} document; run r4p evaluate --attack --out {document.parent} again"
        ) from error
