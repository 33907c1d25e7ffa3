"""The one door of training to the database: what was recorded comes in, what was learnt goes out."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from app.db import session
from app.db.store.models import calibrators
from app.db.store.models.calibrators import NewCalibrator, StoredCalibrator
from app.db.store.models.models import UnknownModel
from app.db.store.outcomes import history, label_checks, training_rows
from app.outcomes.judgement import Judge, LabelCheck, PatchKey, PullRecord, Shadow
from app.settings import DatabaseSettings, load
from app.settings.repo_config import Training
from app.values.identifiers import IssueNumber, IssueRef, RepositoryId
from model.agents.trajectories import trajectory_json
from training.curation.pools import Pool, from_labels
from training.datasets.guided_pairs import JudgedAttempt
from training.labels import labels
from training.objective import episode_rewards
from training.plans.plan import Overlong

__all__ = ["Corpus", "NewCalibrator", "StoredCalibrator", "UnknownModel", "opened"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What this installation of the bot has lived through."""

    database: Engine

    def records(self, group: int | None = None) -> list[PullRecord]:
        """Every pull request that was submitted to a judge, with what became of it; `group`: of one issue."""
        with session.transaction(self.database) as connection:
            return history.records(connection, group)

    def shadow(self, model: str) -> Shadow:
        """What a trained model said while nobody was shown it. Raises UnknownModel."""
        with session.transaction(self.database) as connection:
            return history.shadow(connection, model)

    def outdated(self) -> int:
        """How many pull requests have outcomes that an older rule derived; `r4p outcomes rederive` brings them up to date."""
        with session.transaction(self.database) as connection:
            return history.outdated(connection)

    def checks(self) -> dict[PatchKey, LabelCheck]:
        """What people found who looked at patches."""
        with session.transaction(self.database) as connection:
            return label_checks.every(connection)

    def keep_checks(self, answers: Mapping[PatchKey, bool], now: datetime) -> int:
        """Store what was found; returns how many are new or changed."""
        with session.transaction(self.database) as connection:
            return label_checks.save(connection, answers, now)

    def find(self, number: IssueNumber, repository: str | None = None) -> dict[int, IssueRef]:
        """Issues of that number, by our numbers of them."""
        with session.transaction(self.database) as connection:
            return history.find(connection, number, repository)

    def may_learn(self, repository: RepositoryId) -> bool:
        """Whether the repository lets the bot learn from it."""
        with session.transaction(self.database) as connection:
            return repository in training_rows.consenting(connection)

    def pools(self, now: datetime, to: Collection[Training] = (Training.ON,)) -> list[Pool]:
        """Issues and first-submitted patches with their labels by now, of repositories whose settings say one of these.

        What was purged is gone from here on; what a repository takes back by its settings likewise.
        """
        with session.transaction(self.database) as connection:
            allowed = training_rows.consenting(connection, to)
            records = [
                one for one in history.records(connection) if one.issue.repository.id in allowed
            ]
            found = labels.all_of(records, now, label_checks.every(connection))
            known = [one for one in found if one.is_first]
            return from_labels(
                known,
                training_rows.issues(connection, {one.group for one in known}),
                training_rows.diffs(connection, {one.patch for one in known}),
                training_rows.authors(connection, allowed),
            )

    def attempts(self) -> list[JudgedAttempt]:
        """What agents did, with what the verifier made of it, of repositories that let the bot learn."""
        with session.transaction(self.database) as connection:
            told = training_rows.attempts(connection, training_rows.consenting(connection))
        return [_judged(one) for one in told]

    def active(self, judge: Judge) -> StoredCalibrator | None:
        """The calibrator in use; one that was fitted under other rules is none."""
        with session.transaction(self.database) as connection:
            try:
                return calibrators.active(connection, judge)
            except ValueError:
                return None

    def newest(self, judge: Judge) -> StoredCalibrator | None:
        """The last one that was fitted, in use or not; likewise."""
        with session.transaction(self.database) as connection:
            try:
                return calibrators.newest(connection, judge)
            except ValueError:
                return None

    def keep(self, new: NewCalibrator) -> int:
        """Store a calibrator, in use or not; returns its number."""
        with session.transaction(self.database) as connection:
            return calibrators.save(connection, new)


@contextmanager
def opened() -> Iterator[Corpus]:
    """The corpus in the database of R4P_DATABASE_URL. Raises SettingsError."""
    with session.opened(load(DatabaseSettings).database_url) as database:
        yield Corpus(database)


def _judged(told: training_rows.ToldAttempt) -> JudgedAttempt:
    trajectory = trajectory_json.loaded(told.trajectory)
    belief = episode_rewards.worth(trajectory.stop, told.belief, Overlong.KEEP).reward
    return JudgedAttempt(told.issue, belief, trajectory)
