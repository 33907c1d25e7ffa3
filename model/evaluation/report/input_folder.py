"""Read the folder of a report: run files, attack documents, and notes about problems."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from model.errors import BadRun
from model.evaluation import run_file
from model.evaluation.attacks import attack_document, attack_run, attack_table
from model.evaluation.attacks.attack_table import AttackDocument
from model.evaluation.best_of import best_of_document, best_of_run
from model.evaluation.best_of.best_of_document import BestOfDocument
from model.evaluation.judged_group import JudgedGroup


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The input of an evaluation report: run files, attack documents, and notes about problems."""

    runs: tuple[tuple[str, list[JudgedGroup]], ...]
    """Name and judged groups of each run file."""
    attacks: tuple[tuple[str, AttackDocument], ...]
    """For each finished attack run, the name of its file of groups, and its attack document."""
    best_of: tuple[tuple[str, BestOfDocument], ...]
    """For each finished `--best-of` run, the name of its file of groups, and its document."""
    notes: tuple[str, ...]
    """Problems with the files, such as an unfinished run."""


_Document = TypeVar("_Document", AttackDocument, BestOfDocument)


@dataclass(frozen=True, slots=True)
class _Purpose:
    """A kind of run whose result is the document beside its run file, not the run file itself."""

    suffix: str
    option: str
    work: str
    schema: str


_ATTACK = _Purpose(attack_run.RUN_FILE_SUFFIX, "--attack", "attacks", attack_document.SCHEMA)
_BEST_OF = _Purpose(best_of_run.RUN_FILE_SUFFIX, "--best-of", "sets", best_of_document.SCHEMA)


def read_report_input(folder: Path) -> ReportInput:
    """Read all run files and documents of a folder, as the input of an evaluation report.

    Raises BadRun when the folder has nothing to report apart from attacks, or when a file is unreadable.
    """
    if not folder.is_dir():
        raise BadRun(f"{folder} is no folder; give the --out folder of r4p evaluate")
    paths = sorted(folder.glob("*.jsonl"))
    attacked = [path for path in paths if path.name.endswith(_ATTACK.suffix)]
    drawn = [path for path in paths if path.name.endswith(_BEST_OF.suffix)]
    notes: list[str] = []
    runs = tuple(_read_runs([path for path in paths if path not in (*attacked, *drawn)], notes))
    attacks = tuple(_read_documents(attacked, _ATTACK, attack_table.DOCUMENT_ADAPTER, notes))
    best_of = tuple(_read_documents(drawn, _BEST_OF, best_of_document.DOCUMENT_ADAPTER, notes))
    if not runs and not best_of:
        problem = " ".join(notes) or f"it has no .jsonl file{' but of attacks' if attacks else ''}."
        raise BadRun(
            f"nothing to report in {folder}: {problem} Write run files there with: r4p evaluate --out {folder}"
        )
    return ReportInput(runs, attacks, best_of, tuple(notes))


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


def _read_documents(
    paths: list[Path], purpose: _Purpose, adapter: TypeAdapter[_Document], notes: list[str]
) -> Iterator[tuple[str, _Document]]:
    """Yield the documents beside run files. Only these hold the attackers' goals, and the candidates of each issue."""
    for path in paths:
        document = path.with_suffix(".json")
        if document.exists():
            name = path.name.removesuffix(purpose.suffix).rpartition(".")[0]
            yield name, _read_document(document, purpose, adapter)
        else:
            notes.append(
                f"{path.name}: its {purpose.work} have not all been judged, and were left out; the same r4p evaluate "
                f"{purpose.option} again completes them."
            )


def _read_document(document: Path, purpose: _Purpose, adapter: TypeAdapter[_Document]) -> _Document:
    try:
        return adapter.validate_json(document.read_bytes())
    except OSError as error:
        raise BadRun(f"{document} can't be read: {error.strerror}") from error
    except ValidationError as error:
        raise BadRun(
            f"{document} is no {purpose.schema} document; run r4p evaluate {purpose.option} --out "
            f"{document.parent} again"
        ) from error
