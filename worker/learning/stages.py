"""The stages of a training as commands, and how each is known to be done or to have failed (reads files only)."""

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
    HeldIssue,
    Labels,
    Stage,
    State,
    Training,
    how_many_new,
    labels_of,
)
from app.settings import TrainSettings
from model.errors import EngineDown
from worker.learning.dataset_issues import held
from worker.learning.launchers.task import Phase, Seen, Task, ended_with

_TAIL_BYTES: Final = 65_536
_OF_SEVERAL: Final = re.compile(
    r"^[EW]\d{4} [^\n]*torch/distributed/elastic.*exitcode\s*: (-?\d+)", re.DOTALL | re.MULTILINE
)
"""What torch adds to the words of several processes; the last exit code is of the first that failed, its own is 1."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ended(Exception):
    """The training ends here."""

    state: State
    why: str


def task_of(
    training: Training,
    settings: TrainSettings,
    environment: Mapping[str, str],
    against: tuple[str, ...] = (),
) -> Task:
    """What to run for the stage at hand, under a name that no other start of any training has.

    `against`: arguments that say beside whom a candidate is measured.
    """
    where = hashlib.sha256(str(training.folder).encode()).hexdigest()[:6]
    return Task(
        name=f"r4p-{where}-{training.id}-{training.stage}-{training.launches}{_given_back(training)}",
        arguments=("train", *_arguments(training, settings, against)),
        folder=training.folder,
        environment=environment,
    )


def digest_of(settings: TrainSettings) -> str:
    """SHA-256 that differs where a training begun now would not be the same: of plan, settings and version."""
    parts = [settings.model_dump_json(), version("r4p-bot")]
    with suppress(OSError, ValueError):  # one that comes with the bot is named, and changes with it
        parts.append(Path(settings.train_plan or "").read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def note_given_back(training: Training) -> None:
    """A start that does not count is not started again under its name: schedulers remember it."""
    with (training.folder / f"{training.stage}.given-back").open("a") as file:
        file.write(f"{training.launches}\n")


def _given_back(training: Training) -> str:
    try:
        lines = (training.folder / f"{training.stage}.given-back").read_text().splitlines()
    except OSError:
        return ""
    return f"-{len(lines)}"


def is_done(training: Training) -> bool:
    """Whether the stage at hand has left what the next one needs."""
    match training.stage:
        case Stage.DATASET:
            return (training.dataset / "manifest.json").exists()
        case Stage.RUN:
            result = read(training.run / "result.json")
            return result is not None and result.get("status") == "finished"
        case Stage.EVALUATE:
            return read(training.run / "gate.json") is not None
    return False


def labels(training: Training) -> Labels:
    """What its dataset holds. Raises Ended."""
    manifest = read(training.dataset / "manifest.json")
    try:
        return labels_of(manifest or {}, _held(training))
    except KeyError as error:
        raise Ended(
            State.FAILED, f"{training.dataset}/manifest.json has no {error}: r4p.dataset/1 is meant"
        ) from None


def new_since(training: Training, before: Training | None) -> int:
    """Issues of its dataset that the one of the training before, if any, had not. Raises Ended."""
    try:
        known = held(before.dataset) if before else frozenset()
    except (OSError, ValueError):
        known = frozenset()
    had = before.labels.issues if before and before.labels else 0
    return how_many_new(_held(training), known, had)


def _held(training: Training) -> frozenset[HeldIssue]:
    try:
        return held(training.dataset)
    except (OSError, ValueError) as error:
        raise Ended(
            State.FAILED,
            f"{training.dataset} can't be read ({error}); r4p train start builds it anew",
        ) from None


def reason(training: Training, task: Task, seen: Seen) -> Ended | EngineDown | None:
    """Why we stop here once a task has gone without having done its stage; None: it died, so start it again."""
    result = read(training.run / "result.json") if training.stage is Stage.RUN else None
    if result is not None and result.get("status") == "failed":
        return Ended(State.FAILED, str(result.get("why") or "the trainer did not say why"))
    if seen.phase is not Phase.ENDED:
        return None
    said = task.said()
    if several := _OF_SEVERAL.search(said):
        return _of_its_end(training, ended_with(int(several[1])), said[: several.start()])
    return _of_its_end(training, seen.why, said)


def _of_its_end(training: Training, why: str, log: str) -> Ended | EngineDown | None:
    said = _last_words(log)
    match training.stage, why:
        case Stage.DATASET, "exit code 3":  # there is nothing to learn from
            return Ended(State.SKIPPED, said)
        case _, "exit code 5":  # there is nobody to ask; nothing was decided
            return EngineDown(said)
        case _, "":
            left = f"it ended well, but left no result in {training.folder}"
            return Ended(State.FAILED, f"{training.stage}: {left}")
    began = training.stage is Stage.RUN and progress(training)
    if why == "exit code 2" or (why.startswith("exit code") and not began):  # 2: it refuses
        return Ended(State.FAILED, f"{training.stage}: {why}: {said or 'it said nothing'}")
    return None


def progress(training: Training) -> dict[str, Any]:
    """The newest whole line of the run's metrics; empty: there is none yet."""
    try:
        with (training.run / "metrics.jsonl").open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - _TAIL_BYTES, 0))
            lines = file.read().decode(errors="replace").splitlines(keepends=True)
    except OSError:
        return {}
    for line in reversed(lines):
        found = _object(line) if line.endswith("\n") else None
        if found is not None:
            return dict(found)
    return {}


def read(path: Path) -> Document | None:
    """A JSON object; None: there is none, or it is not whole."""
    try:
        return _object(path.read_text())
    except OSError:
        return None


def _object(text: str) -> Document | None:
    # PostgreSQL's JSON has no NaN, and one in the metrics is what must be seen.
    try:
        found = json.loads(text, parse_constant=str)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _last_words(said: str) -> str:
    """The last lines of a log, without drawing and colour."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return " ".join(list(dict.fromkeys(lines))[-3:])[-800:]


def _arguments(
    training: Training, settings: TrainSettings, against: tuple[str, ...]
) -> tuple[str, ...]:
    data, run = ("--dataset", str(training.dataset)), ("--run", str(training.run))
    to_run = (training.plan, "--to-serve", *data, *run, *shlex.split(settings.train_run_args))
    match training.stage:
        case Stage.DATASET:
            apart = [f"--measured-on={path}" for path in settings.train_measured_on]
            more = [*apart, *shlex.split(settings.train_dataset_args)]
            used = f"--for-run={shlex.join(to_run)}"
            return ("dataset", "build", "--out", str(training.dataset), "--outcomes", used, *more)
        case Stage.RUN:
            return ("run", *to_run, *(("--resume",) if training.run.exists() else ()))
    rules = (f"--margin={settings.gate_margin}", f"--least-issues={settings.gate_least_issues}")
    more = shlex.split(settings.train_evaluate_args)
    return ("evaluate", *run, *data, *against, *rules, *more)
