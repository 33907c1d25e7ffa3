"""The folder a report is made of: measurements, attacks, and what is to be said about the files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from model.errors import BadRun
from model.evaluation import run_file
from model.evaluation.attacks.attack_document import SCHEMA
from model.evaluation.attacks.attack_run import ENDING
from model.evaluation.attacks.attack_table import FOUND, Found
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.report.sections.attacks import AttackRun


@dataclass(frozen=True, slots=True)
class Folder:
    """What was found there."""

    runs: tuple[tuple[str, list[JudgedGroup]], ...]
    """Each run file's name and judged groups."""
    attacks: tuple[AttackRun, ...]
    notes: tuple[str, ...]
    """What is wrong with the files, or unfinished."""


def read(folder: Path) -> Folder:
    """All run files of the folder. Raises BadRun where there is none that was not attacked, or one can't be read."""
    if not folder.is_dir():
        raise BadRun(f"{folder} is no folder; give the --out folder of r4p evaluate")
    paths = sorted(folder.glob("*.jsonl"))
    attacked = [path for path in paths if path.name.endswith(ENDING)]
    notes: list[str] = []
    runs = tuple(_runs([path for path in paths if path not in attacked], notes))
    attacks = tuple(_attacks(attacked, notes))
    if not runs:
        found = " ".join(notes) or f"it has no .jsonl file{' but of attacks' if attacks else ''}."
        raise BadRun(
            f"nothing to report in {folder}: {found} Write run files there with: r4p evaluate --out {folder}"
        )
    return Folder(runs, attacks, tuple(notes))


def _runs(paths: list[Path], notes: list[str]) -> Iterator[tuple[str, list[JudgedGroup]]]:
    for path in paths:
        judged = run_file.in_order(path)
        if run_file.unfinished(path):
            notes.append(
                f"{path.name}: the last line is half written, and was left out. Its run was killed or still goes on; "
                "the same r4p evaluate again completes it."
            )
        if judged:
            yield path.name, judged
        else:
            notes.append(f"{path.name} holds no judged group yet, and was left out.")


def _attacks(paths: list[Path], notes: list[str]) -> Iterator[AttackRun]:
    """From the documents beside the run files: these alone know what the attackers wanted."""
    for path in paths:
        document = path.with_suffix(".json")
        if document.exists():
            yield AttackRun(path.name.removesuffix(ENDING).rpartition(".")[0], _found(document))
        else:
            notes.append(
                f"{path.name}: its attacks have not all been judged, and were left out; the same r4p evaluate --attack "
                "again completes them."
            )


def _found(document: Path) -> Found:
    try:
        return FOUND.validate_json(document.read_bytes())
    except OSError as error:
        raise BadRun(f"{document} can't be read: {error.strerror}") from error
    except ValidationError as error:
        raise BadRun(
            f"{document} is no {SCHEMA} document; run r4p evaluate --attack --out {document.parent} again"
        ) from error
