"""Give training access to the database: it reads history and labels, and stores calibrators and label checks."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine

from app.db import session
from app.db.store.models import calibrators
from app.db.store.models.calibrators import NewCalibrator, StoredCalibrator
from app.db.store.models.models import UnknownModel
from app.db.store.outcomes import history, training_rows
from app.db.store.outcomes import training_rows as label_checks
from app.outcomes.judgement import Judge, LabelCheck, PatchKey, PullRecord, Shadow
from app.settings.repo_config import TrainingConsent
from app.values.identifiers import InstallationId, IssueNumber, IssueRef, RepositoryId
from model.agents.trajectories import trajectory_json
from model.agents.trajectories.trajectory_text import read_record
from training.curation.deduplication import build_edit_key
from training.curation.pools import Pool, build_from_labels
from training.datasets.pairs import JudgedAttempt
from training.labels import labels
from training.labels.labels import LabelledPatch
from training.objective import episode_rewards
from training.plans.plan import OverlongHandling

__all__ = ["Corpus", "NewCalibrator", "StoredCalibrator", "UnknownModel", "open_corpus"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """All issues, patches and outcomes that this installation recorded, plus its calibrators."""

    database: Engine

    def list_records(self, group: int | None = None) -> list[PullRecord]:
        """Return every judged pull request with its outcomes.

        `group`, the bot's own id of an issue, limits the result to that issue.
        """
        with session.transaction(self.database) as connection:
            return history.load_records(connection, group)

    def list_consenting_records(self, settings: Collection[TrainingConsent]) -> list[PullRecord]:
        """Return the judged pull requests of repositories whose `training` setting is in `settings`."""
        with session.transaction(self.database) as connection:
            return _load_consenting_records(
                connection, training_rows.find_consenting_repositories(connection, settings)
            )

    def read_shadow(self, model: str) -> Shadow:
        """Return the recorded, unpublished verdicts of the trained model called `model`. Raises UnknownModel."""
        with session.transaction(self.database) as connection:
            return history.load_shadow(connection, model)

    def count_outdated(self) -> int:
        """Count pull requests whose outcomes come from an older rule version. `r4p outcomes rederive` updates them."""
        with session.transaction(self.database) as connection:
            return history.count_outdated(connection)

    def read_checks(self) -> dict[PatchKey, LabelCheck]:
        """Return the labels that people checked by hand, by patch key (issue id, pull request, SHA-256 of diff)."""
        with session.transaction(self.database) as connection:
            return label_checks.load_label_checks(connection)

    def save_checks(self, answers: Mapping[PatchKey, bool], now: datetime) -> int:
        """Store people's answers (True: the patch is correct); return how many are new or changed."""
        with session.transaction(self.database) as connection:
            return label_checks.save_label_checks(connection, answers, now)

    def find_issues(
        self, number: IssueNumber, repository: str | None = None
    ) -> dict[int, IssueRef]:
        """Return the issues with GitHub's `number`, in all repositories or only in `repository` (`owner/name`).

        The keys of the result are the bot's own issue ids.
        """
        with session.transaction(self.database) as connection:
            return history.find_issues(connection, number, repository)

    def can_learn_from(self, repository: RepositoryId) -> bool:
        """Return whether a repository's settings allow training on its history."""
        with session.transaction(self.database) as connection:
            return repository in training_rows.find_consenting_repositories(connection)

    def build_pools(
        self, now: datetime, settings: Collection[TrainingConsent] = (TrainingConsent.ON,)
    ) -> list[Pool]:
        """Return issues with the first submitted patch of each pull request, labelled as of `now`.

        Only repositories whose `training` setting is in `settings` are included. Purged content and
        repositories that withdrew consent are left out.
        """
        with session.transaction(self.database) as connection:
            allowed = training_rows.find_consenting_repositories(connection, settings)
            records = _load_consenting_records(connection, allowed)
            checks = label_checks.load_label_checks(connection)
            labelled = labels.label_patches(records, now, checks)
            first = [label for label in labelled if label.is_first]
            issues = {label.group for label in first}
            diffs = training_rows.load_diffs(connection, {label.patch for label in first})
            own = training_rows.load_own_trajectories(connection, issues)
            return build_from_labels(
                first,
                training_rows.load_issues(connection, issues),
                diffs,
                training_rows.load_authors(connection, allowed),
                _match_trajectories(first, diffs, own),
            )

    def list_attempts(self) -> list[JudgedAttempt]:
        """Return agents' attempts from repositories that allow training, with the verifier's belief in each patch."""
        with session.transaction(self.database) as connection:
            rows = training_rows.load_attempts(
                connection, training_rows.find_consenting_repositories(connection)
            )
        return [_build_judged_attempt(*row) for row in rows]

    def find_active_calibrator(
        self, judge: Judge, installation: InstallationId | None = None
    ) -> StoredCalibrator | None:
        """Return the active calibrator of a judge that belongs to `installation` (None: the shared one), or None.

        It is None also when the calibrator was fitted under another rule version.
        """
        with session.transaction(self.database) as connection:
            try:
                return calibrators.load_active(connection, judge, installation)
            except ValueError:
                return None

    def find_newest_calibrator(
        self, judge: Judge, installation: InstallationId | None = None
    ) -> StoredCalibrator | None:
        """Return the last fitted calibrator of a judge and an installation (None: shared), in use or not, or None.

        It is None also when that calibrator was fitted under another rule version.
        """
        with session.transaction(self.database) as connection:
            try:
                return calibrators.load_newest(connection, judge, installation)
            except ValueError:
                return None

    def retire_calibrator(self, judge: Judge, installation: InstallationId | None) -> None:
        """Take the active calibrator of a judge and an installation (None: shared) out of use."""
        with session.transaction(self.database) as connection:
            calibrators.retire(connection, judge, installation)

    def save_calibrator(self, new: NewCalibrator) -> int:
        """Store a calibrator and return its id."""
        with session.transaction(self.database) as connection:
            return calibrators.save(connection, new)


@contextmanager
def open_corpus() -> Iterator[Corpus]:
    """Open the corpus of the database at R4P_DATABASE_URL, as a context manager. Raises SettingsError."""
    with session.open_database() as database:
        yield Corpus(database)


def _load_consenting_records(
    connection: Connection, allowed: Collection[RepositoryId]
) -> list[PullRecord]:
    return [
        record
        for record in history.load_records(connection)
        if record.issue.repository.id in allowed
    ]


def _match_trajectories(
    listed: Collection[LabelledPatch],
    diffs: Mapping[str, str],
    own: Collection[tuple[int, str, bytes]],
) -> dict[tuple[int, str], str]:
    """Return the texts of the bot's own attempts that made the edit of a labelled patch, by issue id and patch SHA-256.

    `own` holds issue id, patch and trajectory of each attempt. Of several attempts at one edit the first counts.
    """
    attempts = {(group, build_edit_key(patch)): raw for group, patch, raw in reversed([*own])}
    wanted = {(label.group, label.patch) for label in listed if label.patch in diffs}
    matched = {key: attempts.get((key[0], build_edit_key(diffs[key[1]]))) for key in wanted}
    return {key: read_record(raw) for key, raw in matched.items() if raw is not None}


def _build_judged_attempt(issue: str, raw: bytes, patch_belief: float | None) -> JudgedAttempt:
    trajectory = trajectory_json.load_trajectory(raw)
    belief = episode_rewards.reward_episode(
        trajectory.stop, patch_belief, OverlongHandling.KEEP
    ).reward
    return JudgedAttempt(issue, belief, trajectory)
