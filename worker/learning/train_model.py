"""Run a training through its stages: one at a time, resumed after a crash, with visible progress."""

import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from app.db.store.models import trainings
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import (
    LAUNCHES,
    Training,
    TrainingStage,
    TrainingState,
    explain_skip,
    is_due,
)
from app.settings import TrainSettings, load
from model.errors import EngineDown
from worker.learning.launchers.local import Local
from worker.learning.launchers.task import (
    Launcher,
    LaunchFailed,
    LaunchRefused,
    LaunchTask,
    Phase,
    TaskState,
    apply_exit_code,
)
from worker.learning.stages import (
    TrainingEnded,
    build_task,
    compute_digest,
    count_unseen_issues,
    explain_end,
    is_done,
    read_labels,
    read_progress,
    record_given_back,
)
from worker.queue.context import Context
from worker.queue.errors import Postponed

_AFTER: Final = {
    TrainingStage.DATASET: TrainingStage.RUN,
    TrainingStage.RUN: TrainingStage.EVALUATE,
    TrainingStage.EVALUATE: TrainingStage.REGISTER,
}
_OVER: Final = frozenset({Phase.UNKNOWN, Phase.ENDED})
_SILENT: Final = 20
"""Failed queries of a scheduler in a row before the job is postponed."""
_LATER_SECONDS: Final = 60.0
"""Delay before a scheduler that failed is asked again."""

log = logging.getLogger(__name__)

Register = Callable[[Context, Training], tuple[TrainingState, str, str | None]]
"""Registers a training's model; returns the training's state, the reason and the model's name."""


@dataclass(frozen=True, slots=True)
class TrainModelHandler:
    """Carries a training through its stages (dataset, run, evaluation); a repeat continues where it stopped.

    Raises EngineDown while no server can measure the candidate, and Postponed while a scheduler does not answer.
    """

    settings: TrainSettings
    launcher: Launcher
    register: Register
    database_url: str
    comparison_arguments: Callable[[Context], tuple[str, ...]]
    """Builds the arguments that name the model to compare with."""
    task_environment: Mapping[str, str]
    """Settings for the computing machines: no secret and no database address."""
    look_seconds: float = 2.0

    def __call__(self, context: Context, job: TrainModel) -> None:
        """Start or resume a training if one is due, run its stages and store how it ended."""
        training = self._take_training(context, job)
        if training is None:
            return
        try:
            state, why, model = self._run_stages(context, training, job)
        except TrainingEnded as end:
            state, why, model = end.state, end.why, None
        except LaunchFailed as error:
            with context.transaction() as connection:
                trainings.record_progress(connection, training, read_progress(training), str(error))
            raise Postponed(str(error), after_seconds=_LATER_SECONDS) from error
        with context.transaction() as connection:
            trainings.end(connection, training, state, why, model)
        if state is TrainingState.SKIPPED:  # an unused dataset; each day would add another one
            shutil.rmtree(training.dataset, ignore_errors=True)
        level = logging.ERROR if state is TrainingState.FAILED else logging.INFO
        log.log(level, "training %d %s: %s", training.id, state, why)

    def _take_training(self, context: Context, job: TrainModel) -> Training | None:
        """Return the unfinished training, or begin a new one if it is due."""
        if self.settings.train_plan is None:
            log.warning("no training starts: R4P_TRAIN_PLAN is not set")
            return None
        folder = self.settings.train_dir.resolve()
        every = timedelta(seconds=self.settings.train_every_seconds)
        with context.transaction() as connection:
            left = trainings.find_running(connection)
            if left is not None:
                return left
            if not job.asked and not is_due(
                trainings.find_last(connection), datetime.now(UTC), every
            ):
                return None
            plan, digest = self.settings.train_plan, compute_digest(self.settings)
            return trainings.begin(connection, plan, digest, folder, self.settings.train_launcher)

    def _run_stages(
        self, context: Context, training: Training, job: TrainModel
    ) -> tuple[TrainingState, str, str | None]:
        _make_folder(training.folder)
        while training.stage is not TrainingStage.REGISTER:
            if not is_done(training):
                training = self._run_stage(context, training)
            labels = training.labels
            if training.stage is TrainingStage.DATASET:
                labels = read_labels(training)
                self._require_labels(context, training, job)
            with context.transaction() as connection:
                training = trainings.reach_stage(
                    connection, training, _AFTER[training.stage], labels
                )
        return self.register(context, training)

    def _require_labels(self, context: Context, training: Training, job: TrainModel) -> None:
        with context.transaction() as connection:
            before = trainings.find_last_learnt(connection, training.digest)
        labels, new = read_labels(training), count_unseen_issues(training, before)
        if job.asked:
            why = explain_skip(labels, new, 0)
        else:
            failed = before if before and before.state is TrainingState.FAILED else None
            least, to_measure = self.settings.train_new_issues, self.settings.train_test_issues
            why = explain_skip(labels, new, least, to_measure, failed)
        if why is not None:
            raise TrainingEnded(TrainingState.SKIPPED, why)

    def _run_stage(self, context: Context, training: Training) -> Training:
        """Run the present stage, and start it again where it died. Raises TrainingEnded."""
        launcher = self._choose_launcher(training)
        against = (
            self.comparison_arguments(context) if training.stage is TrainingStage.EVALUATE else ()
        )
        task = self._build_task(training, against)
        seen = launcher.look(task) if training.launches else TaskState(Phase.UNKNOWN)
        while not is_done(training):
            if seen.phase in _OVER:
                if (
                    training.launches
                    and launcher.outlives_worker
                    and self._wait_for_result(context, training, task)
                ):
                    continue
                seen = apply_exit_code(seen, task.read_exit_code())
                end = explain_end(training, task, seen) if training.launches else None
                if isinstance(end, EngineDown):
                    self._give_back(context, training)
                if end is not None:
                    raise end
                training = self._count_launch(context, training, seen.why)
                task = self._build_task(training, against)
                self._start(context, training, launcher, task)
            try:
                seen = self._watch(context, training, launcher, task)
            finally:
                if not launcher.outlives_worker:
                    launcher.stop(task)
        return training

    def _start(
        self, context: Context, training: Training, launcher: Launcher, task: LaunchTask
    ) -> None:
        """Start a task.

        Raises TrainingEnded when no retry can start it, and LaunchFailed when a later one may. A
        failed start does not count and keeps its name, because it may have succeeded without an
        answer.
        """
        try:
            launcher.start(task)
        except LaunchRefused as error:
            raise TrainingEnded(TrainingState.FAILED, str(error)) from error
        except LaunchFailed:
            with context.transaction() as connection:
                trainings.give_back(connection, training)
            raise
        log.info("%s is started", task.name)

    def _count_launch(self, context: Context, training: Training, died: str) -> Training:
        """Count one more start of the stage. Raises TrainingEnded after too many."""
        if training.launches >= LAUNCHES:
            log_tail = self._build_task(training).read_log_tail()[-500:] or "nothing"
            each = f"{training.stage} was started {training.launches} times and died each time"
            raise TrainingEnded(
                TrainingState.FAILED, f"{each}, at last: {died or 'unseen'}; it said: {log_tail}"
            )
        with context.transaction() as connection:
            return trainings.launch(connection, training)

    def _watch(
        self, context: Context, training: Training, launcher: Launcher, task: LaunchTask
    ) -> TaskState:
        """Return the task's state once it ended or is unknown. Raises when this job has to stop."""
        silent = 0
        while True:
            try:
                seen, silent = launcher.look(task), 0
            except LaunchFailed as error:
                silent += 1
                if silent > _SILENT:
                    raise
                seen = TaskState(Phase.RUNNING, str(error))
            with context.transaction() as connection:
                trainings.record_progress(connection, training, read_progress(training), seen.why)
            if seen.phase in _OVER:
                return seen
            self._wait(context, training, launcher)

    def _wait_for_result(self, context: Context, training: Training, task: LaunchTask) -> bool:
        """Return whether the result appears in time: a shared file system shows another machine's
        files late.
        """
        until = time.monotonic() + self.settings.train_shared_seconds
        while (
            not (is_there := is_done(training))
            and time.monotonic() < until
            and not task.read_exit_code()
        ):
            if not context.keep_going():
                context.check()
            time.sleep(min(0.2, self.look_seconds))
        return is_there

    def _wait(self, context: Context, training: Training, launcher: Launcher) -> None:
        """Wait until the next query is due. Raises when this job has to stop."""
        until = time.monotonic() + self.look_seconds
        while time.monotonic() < until and context.keep_going():
            time.sleep(min(0.2, self.look_seconds))
        if context.keep_going():
            return
        if not launcher.outlives_worker and not context.lost.is_set():
            self._give_back(context, training)
        context.check()

    def _give_back(self, context: Context, training: Training) -> None:
        """Uncount this start: the task itself did not fail."""
        record_given_back(training)
        with context.transaction() as connection:
            trainings.give_back(connection, training)

    def _choose_launcher(self, training: Training) -> Launcher:
        """Return the launcher; the dataset is built here, because it needs the database and little
        computing.
        """
        return Local() if training.stage is TrainingStage.DATASET else self.launcher

    def _build_task(self, training: Training, against: tuple[str, ...] = ()) -> LaunchTask:
        environment = dict(self.task_environment)
        if training.stage is TrainingStage.DATASET:
            environment["R4P_DATABASE_URL"] = self.database_url
        return build_task(training, self.settings, environment, against)


def plan_training(connection: Connection) -> Sequence[Planned]:
    """Return one job that starts or resumes a training, if one is due or has not ended; else an empty list.

    The list is also empty without a plan in the settings.
    """
    settings = load(TrainSettings)
    every = timedelta(seconds=settings.train_every_seconds)
    if settings.train_plan is None:
        return []
    if not is_due(trainings.find_last(connection), datetime.now(UTC), every):
        return []
    return [Planned(TrainModel(OF_THE_APP))]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingEnded(
            TrainingState.FAILED,
            f"{folder} can't be made ({error.strerror}): set R4P_TRAIN_DIR to a folder that may be written",
        ) from error
