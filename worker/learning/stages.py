"""Build a training stage's command, and read from its files whether it finished or failed."""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from app.learning.training_plan import (
    DatasetIssue,
    LabelCounts,
    Training,
    TrainingStage,
    TrainingState,
    count_labels,
    count_new_issues,
)
from app.settings import TrainSettings
from model.errors import EngineDown
from worker.learning.launchers.task import LaunchTask, Phase, TaskState, describe_exit_code

_TAIL_BYTES: Final = 65_536
_OF_SEVERAL: Final = re.compile(
    r"^[EW]\d{4} [^\n]*torch/distributed/elastic.*exitcode\s*: (-?\d+)", re.DOTALL | re.MULTILINE
)
"""Matches torch's report about several processes. It names the exit code of the first that failed;
torch itself exits with 1."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrainingEnded(Exception):
    """Ends a training: the exception holds its final state and the reason."""

    state: TrainingState
    why: str


def build_task(
    training: Training,
    settings: TrainSettings,
    environment: Mapping[str, str],
    against: tuple[str, ...] = (),
) -> LaunchTask:
    """Build the task that runs a training's present stage, under a name that no other start has.

    `environment` holds the settings for the task's command. `against` holds the arguments of `r4p train evaluate` that
    name the model to compare with.
    """
    where = hashlib.sha256(str(training.folder).encode()).hexdigest()[:6]
    return LaunchTask(
        name=f"r4p-{where}-{training.id}-{training.stage}-{training.launches}{_build_name_suffix(training)}",
        arguments=("train", *_build_arguments(training, settings, against)),
        folder=training.folder,
        environment=environment,
    )


def compute_digest(settings: TrainSettings) -> str:
    """Return the SHA-256 (hex) of the training settings, the plan's file, if any, and the bot's version."""
    parts = [settings.model_dump_json(), version("r4p-bot")]
    with suppress(OSError, ValueError):  # a built-in plan has no file; it changes with the version
        parts.append(Path(settings.train_plan or "").read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def record_given_back(training: Training) -> None:
    """Note in the training's folder that the worker stopped its stage's task, so that this start does not count.

    The next task of the stage then gets a new name, because schedulers remember old names.
    """
    with (training.folder / f"{training.stage}.given-back").open("a") as file:
        file.write(f"{training.launches}\n")


def _build_name_suffix(training: Training) -> str:
    try:
        lines = (training.folder / f"{training.stage}.given-back").read_text().splitlines()
    except OSError:
        return ""
    return f"-{len(lines)}"


def is_done(training: Training) -> bool:
    """Return whether the training's present stage is complete, by the result files in its folder."""
    match training.stage:
        case TrainingStage.DATASET:
            return (training.dataset / "manifest.json").exists()
        case TrainingStage.RUN:
            result = read_json(training.run / "result.json")
            return result is not None and result.get("status") == "finished"
        case TrainingStage.EVALUATE:
            return read_json(training.run / "gate.json") is not None
    return False


def read_labels(training: Training) -> LabelCounts:
    """Return the counts of labelled issues and patches in a training's dataset.

    Raises TrainingEnded if the dataset cannot be read.
    """
    manifest = read_json(training.dataset / "manifest.json")
    try:
        return count_labels(manifest or {}, _read_issues(training))
    except KeyError as error:
        raise TrainingEnded(
            TrainingState.FAILED,
            f"{training.dataset}/manifest.json has no {error}: an r4p.dataset/1 manifest needs it",
        ) from None


def count_unseen_issues(training: Training, before: Training | None) -> int:
    """Return how many issues of a training's dataset the earlier training `before` did not have.

    Without an earlier training (None) all issues count. Raises TrainingEnded if the dataset cannot be read.
    """
    try:
        earlier = read_issues(before.dataset) if before else frozenset()
    except (OSError, ValueError):
        earlier = frozenset()
    earlier_count = before.labels.issues if before and before.labels else 0
    return count_new_issues(_read_issues(training), earlier, earlier_count)


def _read_issues(training: Training) -> frozenset[DatasetIssue]:
    try:
        return read_issues(training.dataset)
    except (OSError, ValueError) as error:
        raise TrainingEnded(
            TrainingState.FAILED,
            f"{training.dataset} can't be read ({error}); r4p train start builds a new one",
        ) from None


def explain_end(
    training: Training, task: LaunchTask, seen: TaskState
) -> TrainingEnded | EngineDown | None:
    """Return the error to raise because a training must end or wait; None if its task should start again.

    The stage's task left no result. `seen` is its state by the launcher: ended or unknown.
    """
    result = (
        read_json(training.run / "result.json") if training.stage is TrainingStage.RUN else None
    )
    if result is not None and result.get("status") == "failed":
        return TrainingEnded(
            TrainingState.FAILED, str(result.get("why") or "the trainer did not say why")
        )
    if seen.phase is not Phase.ENDED:
        return None
    log = task.read_log_tail()
    if several := _OF_SEVERAL.search(log):
        return _explain_exit(training, describe_exit_code(int(several[1])), log[: several.start()])
    return _explain_exit(training, seen.why, log)


def _explain_exit(training: Training, why: str, log: str) -> TrainingEnded | EngineDown | None:
    last_lines = _shorten_log(log)
    match training.stage, why:
        case TrainingStage.DATASET, "exit code 3":  # exit code 3: nothing to learn from
            return TrainingEnded(TrainingState.SKIPPED, last_lines)
        case _, "exit code 5":  # exit code 5: no server; nothing was decided
            return EngineDown(last_lines)
        case _, "":
            left = f"it succeeded but left no result in {training.folder}"
            return TrainingEnded(TrainingState.FAILED, f"{training.stage}: {left}")
    began = training.stage is TrainingStage.RUN and read_progress(training)
    if why == "exit code 2" or (why.startswith("exit code") and not began):  # exit code 2: refused
        return TrainingEnded(
            TrainingState.FAILED, f"{training.stage}: {why}: {last_lines or 'it said nothing'}"
        )
    return None


def read_progress(training: Training) -> dict[str, Any]:
    """Return the metrics in the last complete line of a training run's `metrics.jsonl`; empty if there is none."""
    try:
        with (training.run / "metrics.jsonl").open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - _TAIL_BYTES, 0))
            lines = file.read().decode(errors="replace").splitlines(keepends=True)
    except OSError:
        return {}
    for line in reversed(lines):
        metrics = _parse_object(line) if line.endswith("\n") else None
        if metrics is not None:
            return dict(metrics)
    return {}


def read_json(path: Path) -> Document | None:
    """Read a JSON object from a file; None if the file is missing, incomplete or holds something else."""
    try:
        return _parse_object(path.read_text())
    except OSError:
        return None


def _parse_object(text: str) -> Document | None:
    # PostgreSQL's JSON has no NaN; as text a NaN in the metrics stays visible.
    try:
        document = json.loads(text, parse_constant=str)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _shorten_log(log: str) -> str:
    """Return the last lines of a log without colors."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", log)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return " ".join(list(dict.fromkeys(lines))[-3:])[-800:]


def _build_arguments(
    training: Training, settings: TrainSettings, against: tuple[str, ...]
) -> tuple[str, ...]:
    data, run = ("--dataset", str(training.dataset)), ("--run", str(training.run))
    to_run = (training.plan, "--to-serve", *data, *run, *shlex.split(settings.train_run_args))
    match training.stage:
        case TrainingStage.DATASET:
            apart = [f"--measured-on={path}" for path in settings.train_measured_on]
            extra = [*apart, *shlex.split(settings.train_dataset_args)]
            used = f"--for-run={shlex.join(to_run)}"
            return ("dataset", "build", "--out", str(training.dataset), "--outcomes", used, *extra)
        case TrainingStage.RUN:
            return ("run", *to_run, *(("--resume",) if training.run.exists() else ()))
    rules = (f"--margin={settings.gate_margin}", f"--least-issues={settings.gate_least_issues}")
    extra = shlex.split(settings.train_evaluate_args)
    return ("evaluate", *run, *data, *against, *rules, *extra)


def read_issues(dataset: Path) -> frozenset[DatasetIssue]:
    """Return the issues in the Parquet files of a dataset's folder; none if the folder was deleted.

    Raises OSError or ValueError if a file cannot be read.
    """
    from pyarrow import parquet  # noqa: PLC0415 (only the train worker needs this heavy library)

    issues: set[DatasetIssue] = set()
    for path in dataset.glob("*.parquet"):
        table = parquet.read_table(path, columns=["issue", "source"])
        columns = (table[name].to_pylist() for name in ("issue", "source"))
        issues |= {
            DatasetIssue(issue, source, path.stem) for issue, source in zip(*columns, strict=True)
        }
    return frozenset(issues)
