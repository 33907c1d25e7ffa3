"""Store effects: writes to GitHub, planned under a job's fence, then confirmed or ambiguous."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.db.session import transaction
from app.db.store.queue import installation_controls, jobs
from app.db.store.queue.jobs import ClaimedJob
from app.db.tables.schema import confirmed_writes, effects
from app.github.api.effect_store import Effect, EffectKey, EffectState
from app.values.identifiers import CommandSource, EvaluationId
from model.errors import Cancelled


@dataclass(frozen=True, slots=True)
class PostgresEffects:
    """Stores effects, the planned writes to GitHub, in PostgreSQL for one attempt at the job `claimed`.

    It implements `EffectStore` with one row per effect. Each confirmed write leaves a row in `confirmed_writes` too.
    """

    database: Engine
    claimed: ClaimedJob
    evaluation: EvaluationId | None = None
    """The evaluation whose verdict is written; None when the text is no verdict."""

    def check_owner(self) -> None:
        """Raise Fenced unless this attempt still owns its job, and InstallationPaused while the operator pauses it."""
        with transaction(self.database) as connection:
            jobs.fence(connection, self.claimed)
            installation_controls.check_pause(connection, self.claimed.job.installation)

    def check_pause(self, key: EffectKey) -> None:
        """Raise InstallationPaused while the operator pauses the installation of the object `key`, or all."""
        with transaction(self.database) as connection:
            installation_controls.check_pause(connection, key.repository.installation)

    def load(self, key: EffectKey) -> Effect | None:
        """Load the stored state of the write to GitHub with this key; None when it was never planned."""
        with transaction(self.database) as connection:
            row = connection.execute(select(effects).where(_match(key))).one_or_none()
        return None if row is None else Effect(EffectState(row.state), row.github_id, row.content)

    def plan(self, key: EffectKey, content: str, *, is_new: bool = False) -> Effect | None:
        """Record a write to GitHub that is about to be sent, and return the effect as it was before.

        `is_new`: GitHub no longer has the object. The method forgets its id, so that the write creates a new object.
        Raises Fenced when this attempt has lost its job, InstallationPaused while the operator pauses the installation,
        and Cancelled when a newer evaluation has planned the same object.
        """
        columns = {"state": EffectState.PLANNED.value, "content": content, **self._writer}
        with transaction(self.database) as connection:
            jobs.fence(connection, self.claimed)
            # A transferred repository has another installation than its job.
            installation_controls.check_pause(connection, key.repository.installation)
            before = self._insert(connection, key, columns)
            if before is not None:
                if is_new:
                    columns["github_id"] = None
                self._update(connection, key, columns)
        return before

    def confirm(self, key: EffectKey, github_id: int) -> bool:
        """Record that GitHub holds the planned content, such as a comment or check run, under the id `github_id`.

        Return False, changing nothing, when another attempt has planned this object since.
        """
        is_own = (effects.c.state == EffectState.PLANNED.value) & (
            (effects.c.job_id == self.claimed.id) & (effects.c.token == self.claimed.token)
        )
        confirmed = {"state": EffectState.CONFIRMED.value, "github_id": github_id}
        with transaction(self.database) as connection:
            changed = connection.execute(
                update(effects)
                .where(_match(key), is_own)
                .values(**confirmed, updated_at=func.now())
            )
            if changed.rowcount:
                self._record_write(connection, key, github_id)
        return bool(changed.rowcount)

    def mark_ambiguous(self, key: EffectKey, github_id: int | None) -> None:
        """Record that nobody knows for certain what GitHub shows, whoever planned it.

        `github_id` is the id of the object, or None when it must be looked for.
        """
        doubt = {"state": EffectState.AMBIGUOUS.value, "github_id": github_id}
        with transaction(self.database) as connection:
            self._update(connection, key, doubt)

    @property
    def _writer(self) -> dict[str, object]:
        """Columns that tell which attempt planned a write."""
        return {
            "job_id": self.claimed.id,
            "token": self.claimed.token,
            "evaluation_id": self.evaluation,
        }

    def _insert(
        self, connection: Connection, key: EffectKey, columns: dict[str, object]
    ) -> Effect | None:
        """Insert the row of a new effect, or lock the row that exists and return its effect."""
        fresh = connection.execute(
            upsert(effects)
            .values(key=key.name, repository_id=key.repository.id, **columns)
            .on_conflict_do_nothing()
            .returning(effects.c.key)
        )
        if fresh.first() is not None:
            return None
        row = connection.execute(select(effects).where(_match(key)).with_for_update()).one()
        newest = row.evaluation_id
        if self.evaluation is not None and newest is not None and newest > self.evaluation:
            raise Cancelled(f"{key.name}: evaluation {newest} replaces {self.evaluation}")
        return Effect(EffectState(row.state), row.github_id, row.content)

    def _update(
        self, connection: Connection, key: EffectKey, columns: Mapping[str, object]
    ) -> None:
        connection.execute(
            update(effects).where(_match(key)).values(**columns, updated_at=func.now())
        )

    def _record_write(self, connection: Connection, key: EffectKey, github_id: int) -> None:
        connection.execute(
            insert(confirmed_writes).values(
                key=key.name,
                repository_id=key.repository.id,
                github_id=github_id,
                job_id=self.claimed.id,
                evaluation_id=self.evaluation,
                delivery_guid=self.claimed.delivery,
            )
        )


def find_github_id(database: Engine, key: EffectKey) -> int | None:
    """Return GitHub's id of the object that the bot writes under `key`; None when no id is known."""
    with transaction(database) as connection:
        query = select(effects.c.github_id).where(_match(key))
        identity: int | None = connection.execute(query).scalar_one_or_none()
    return identity


def _match(key: EffectKey) -> ColumnElement[bool]:
    # With the repository: a fork may have a pull request with the same number and head.
    return (effects.c.repository_id == key.repository.id) & (effects.c.key == key.name)


def build_notice_key(group: int) -> str:
    """Return the key of the notice about several pull requests for the issue of the group with the id `group`."""
    return f"notice:group:{group}"


def build_comment_key(group: int) -> str:
    """Return `comment:group:ID`, the key of the effect that writes the verdict comment of the group with id `group`."""
    return f"comment:group:{group}"


def build_label_key(group: int, pull: int) -> str:
    """Return the key of the effect that labels pull request `pull` with a group's verdict on it."""
    return f"label:group:{group}:pull:{pull}"


def build_check_key(group: int, pull: int, head_sha: str) -> str:
    """Return the key, a string, of the effect that writes a group's check run on a pull request.

    `group` is the group's id. The check run stands on the commit `head_sha` of pull request number `pull`.
    """
    return f"check:group:{group}:pull:{pull}:{head_sha}"


def build_config_check_key(pull: int, head_sha: str) -> str:
    """Return the key, a string, of the effect that writes a check run about an invalid `.github/r4p.yml`.

    The check run stands on the commit `head_sha` of pull request number `pull`.
    """
    return f"check:config:pull:{pull}:{head_sha}"


def build_reply_key(answers: CommandSource) -> str:
    """Return `reply:SOURCE`, the key of the effect that replies to commands in the comment or review `answers`."""
    return f"reply:{answers}"


def build_draft_key(attempt: int) -> str:
    """Return `draft:ID`, the key of the effect that opens an alternative's draft pull request.

    `attempt` is the id of the attempt that wrote the alternative.
    """
    return f"draft:{attempt}"


def build_onboarding_key() -> str:
    """Return `onboarding`, the key of the effect that opens a repository's setup pull request."""
    return "onboarding"


def build_draft_reply_key(draft: int, asked_in: CommandSource) -> str:
    """Return the key, a string, of the effect that replies whether a draft pull request was opened.

    `draft` is the id of its row in `drafts`, and `asked_in` the comment or review that asked for it.
    """
    return f"draft-told:{draft}:{asked_in}"


def build_refusal_key(asked_in: CommandSource) -> str:
    """Return `not-judged:SOURCE`, the key of the effect that replies that the bot could judge nothing.

    `asked_in` is the comment or review that asked for a verdict or an alternative.
    """
    return f"not-judged:{asked_in}"
