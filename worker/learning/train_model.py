"""Have a model trained: one training at a time, taken over where it was left, its progress visible, its failures told."""

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
from app.learning.training_plan import LAUNCHES, Stage, State, Training, is_due, why_not
from app.settings import TrainSettings, load
from model.errors import EngineDown
from worker.learning.launchers.local import Local
from worker.learning.launchers.task import (
    Launcher,
    LaunchFailed,
    NeverTaken,
    Phase,
    Seen,
    Task,
    as_ended,
)
from worker.learning.stages import (
    Ended,
    digest_of,
    is_done,
    labels,
    new_since,
    note_given_back,
    progress,
    reason,
    task_of,
)
from worker.queue.context import Context
from worker.queue.errors import Postponed

_AFTER: Final = {
    Stage.DATASET: Stage.RUN,
    Stage.RUN: Stage.EVALUATE,
    Stage.EVALUATE: Stage.REGISTER,
}
_OVER: Final = frozenset({Phase.UNKNOWN, Phase.ENDED})
_SILENT: Final = 20
"""Times in a row a scheduler may not answer before the job is put back."""
_LATER_SECONDS: Final = 60.0
"""Until a scheduler is asked again that does not answer, or takes nothing now."""

log = logging.getLogger(__name__)

Register = Callable[[Context, Training], tuple[State, str, str | None]]
"""Keeps what a training made, and promotes it if that is wanted; what became of the training, why, and the name."""


@dataclass(frozen=True, slots=True)
class TrainModelHandler:
    """Carries a training through its stages. Run twice it goes on, and what is done stays done.

    Raises EngineDown while there is nobody to measure a candidate by, Postponed while a scheduler does not answer: the
    queue comes back to it.
    """

    settings: TrainSettings
    launcher: Launcher
    register: Register
    database_url: str
    against: Callable[[Context], tuple[str, ...]]
    """Arguments that say beside whom a candidate is measured."""
    told: Mapping[str, str]
    """Our settings as those who compute may know them: no secret, and no address of a store."""
    look_seconds: float = 2.0

    def __call__(self, context: Context, job: TrainModel) -> None:
        """Train, if it is time to and there is enough to learn from."""
        training = self._taken(context, job)
        if training is None:
            return
        try:
            state, why, model = self._through(context, training, job)
        except Ended as end:
            state, why, model = end.state, end.why, None
        except LaunchFailed as error:
            with context.transaction() as connection:
                trainings.beat(connection, training, progress(training), str(error))
            raise Postponed(str(error), after_seconds=_LATER_SECONDS) from error
        with context.transaction() as connection:
            trainings.end(connection, training, state, why, model)
        if state is State.SKIPPED:  # nothing was learnt from it, and each day brings another one
            shutil.rmtree(training.dataset, ignore_errors=True)
        level = logging.ERROR if state is State.FAILED else logging.INFO
        log.log(level, "training %d %s: %s", training.id, state, why)

    def _taken(self, context: Context, job: TrainModel) -> Training | None:
        """The one that was left, or else a new one, if it is time for it."""
        if self.settings.train_plan is None:
            log.warning("nothing is trained: R4P_TRAIN_PLAN is not set")
            return None
        folder = self.settings.train_dir.resolve()
        every = timedelta(seconds=self.settings.train_every_seconds)
        with context.transaction() as connection:
            left = trainings.running(connection)
            if left is not None:
                return left
            if not job.asked and not is_due(trainings.last(connection), datetime.now(UTC), every):
                return None
            plan, digest = self.settings.train_plan, digest_of(self.settings)
            return trainings.begin(connection, plan, digest, folder, self.settings.train_launcher)

    def _through(
        self, context: Context, training: Training, job: TrainModel
    ) -> tuple[State, str, str | None]:
        _make(training.folder)
        while training.stage is not Stage.REGISTER:
            if not is_done(training):
                training = self._launched(context, training)
            known = training.labels
            if training.stage is Stage.DATASET:
                known = labels(training)
                self._require(context, training, job)
            with context.transaction() as connection:
                training = trainings.reach(connection, training, _AFTER[training.stage], known)
        return self.register(context, training)

    def _require(self, context: Context, training: Training, job: TrainModel) -> None:
        with context.transaction() as connection:
            before = trainings.last_that_learnt(connection, training.digest)
        found, new = labels(training), new_since(training, before)
        if job.asked:
            why = why_not(found, new, 0)
        else:
            failed = before if before and before.state is State.FAILED else None
            least, to_measure = self.settings.train_new_issues, self.settings.train_test_issues
            why = why_not(found, new, least, to_measure, failed)
        if why is not None:
            raise Ended(State.SKIPPED, why)

    def _launched(self, context: Context, training: Training) -> Training:
        """Have the stage at hand done, starting it again where it died. Raises Ended."""
        launcher = self._launcher(training)
        against = self.against(context) if training.stage is Stage.EVALUATE else ()
        task = self._task(training, against)
        seen = launcher.look(task) if training.launches else Seen(Phase.UNKNOWN)
        while not is_done(training):
            if seen.phase in _OVER:
                if (
                    training.launches
                    and launcher.outlives_us
                    and self._comes(context, training, task)
                ):
                    continue
                seen = as_ended(seen, task.code())
                end = reason(training, task, seen) if training.launches else None
                if isinstance(end, EngineDown):
                    self._give_back(context, training)
                if end is not None:
                    raise end
                training = self._counted(context, training, seen.why)
                task = self._task(training, against)
                self._start(context, training, launcher, task)
            try:
                seen = self._watched(context, training, launcher, task)
            finally:
                if not launcher.outlives_us:
                    launcher.stop(task)
        return training

    def _start(self, context: Context, training: Training, launcher: Launcher, task: Task) -> None:
        """Hand it over. Raises Ended where nobody ever takes it, LaunchFailed where nobody does now.

        That start does not count, and the next one has its name: it may have been taken without an answer.
        """
        try:
            launcher.start(task)
        except NeverTaken as error:
            raise Ended(State.FAILED, str(error)) from error
        except LaunchFailed:
            with context.transaction() as connection:
                trainings.give_back(connection, training)
            raise
        log.info("%s is started", task.name)

    def _counted(self, context: Context, training: Training, died: str) -> Training:
        """One more start of the stage at hand. Raises Ended after too many."""
        if training.launches >= LAUNCHES:
            said = self._task(training).said()[-500:] or "nothing"
            each = f"{training.stage} was started {training.launches} times and died each time"
            raise Ended(State.FAILED, f"{each}, at last: {died or 'unseen'}; it said: {said}")
        with context.transaction() as connection:
            return trainings.launch(connection, training)

    def _watched(
        self, context: Context, training: Training, launcher: Launcher, task: Task
    ) -> Seen:
        """The task when it has ended, or is known no more. Raises what ends this attempt when it is to stop."""
        silent = 0
        while True:
            try:
                seen, silent = launcher.look(task), 0
            except LaunchFailed as error:
                silent += 1
                if silent > _SILENT:
                    raise
                seen = Seen(Phase.RUNNING, str(error))
            with context.transaction() as connection:
                trainings.beat(connection, training, progress(training), seen.why)
            if seen.phase in _OVER:
                return seen
            self._wait(context, training, launcher)

    def _comes(self, context: Context, training: Training, task: Task) -> bool:
        """Whether its result is seen in time: a shared file system shows a little later what another machine wrote."""
        until = time.monotonic() + self.settings.train_shared_seconds
        while not (found := is_done(training)) and time.monotonic() < until and not task.code():
            if not context.keep_going():
                context.check()
            time.sleep(min(0.2, self.look_seconds))
        return found

    def _wait(self, context: Context, training: Training, launcher: Launcher) -> None:
        """Until it is time to look again. Raises what ends this attempt when it is to stop."""
        until = time.monotonic() + self.look_seconds
        while time.monotonic() < until and context.keep_going():
            time.sleep(min(0.2, self.look_seconds))
        if context.keep_going():
            return
        if not launcher.outlives_us and not context.lost.is_set():
            self._give_back(context, training)
        context.check()

    def _give_back(self, context: Context, training: Training) -> None:
        """This start does not count: the task is not to blame that it ended."""
        note_given_back(training)
        with context.transaction() as connection:
            trainings.give_back(connection, training)

    def _launcher(self, training: Training) -> Launcher:
        """What computes little and reads the database runs here."""
        return Local() if training.stage is Stage.DATASET else self.launcher

    def _task(self, training: Training, against: tuple[str, ...] = ()) -> Task:
        told = dict(self.told)
        if training.stage is Stage.DATASET:
            told["R4P_DATABASE_URL"] = self.database_url
        return task_of(training, self.settings, told, against)


def due_training(connection: Connection) -> Sequence[Planned]:
    """By the clock: once a day, and whenever one was left. Nothing where the operator names no plan."""
    settings = load(TrainSettings)
    every = timedelta(seconds=settings.train_every_seconds)
    if settings.train_plan is None:
        return []
    if not is_due(trainings.last(connection), datetime.now(UTC), every):
        return []
    return [Planned(TrainModel(OF_THE_APP))]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Ended(
            State.FAILED,
            f"{folder} can't be made ({error.strerror}): set R4P_TRAIN_DIR to a folder that may be written",
        ) from error
