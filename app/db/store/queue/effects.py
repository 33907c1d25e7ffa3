"""Store effects: writes to GitHub, planned and then confirmed or ambiguous. Each method commits."""

from dataclasses import dataclass

from sqlalchemy import Engine, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.session import transaction
from app.db.tables.schema import effects
from app.github.api.effect_store import Effect, EffectKey, EffectState
from app.values.identifiers import CommandSource


@dataclass(frozen=True, slots=True)
class PostgresEffects:
    """Stores effects, the planned writes to GitHub, in PostgreSQL.

    It implements `EffectStore` with one row per effect.
    """

    database: Engine

    def load(self, key: EffectKey) -> Effect | None:
        """Load the stored state of the write to GitHub with this key; None when it was never planned."""
        with transaction(self.database) as connection:
            row = connection.execute(select(effects).where(effects.c.key == key.name)).one_or_none()
        if row is None:
            return None
        return Effect(EffectState(row.state), row.github_id, row.digest)

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """Record a write to GitHub that is about to be sent.

        `github_id` is the id of the object to edit, or None for a new object.
        """
        self._save(key, state=EffectState.PLANNED, github_id=github_id)

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """Record that GitHub holds a written object, such as a comment or check run.

        `github_id` is the object's id at GitHub, and `digest` the SHA-256 of its content.
        """
        self._save(key, state=EffectState.CONFIRMED, github_id=github_id, digest=digest)

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Record that GitHub's answer to a sent write was lost; a stored `github_id` stays."""
        with transaction(self.database) as connection:
            connection.execute(
                update(effects)
                .where(effects.c.key == key.name)
                .values(state=EffectState.AMBIGUOUS.value, updated_at=func.now())
            )

    def _save(self, key: EffectKey, **values: object) -> None:
        changed = {**values, "updated_at": func.now()}
        with transaction(self.database) as connection:
            connection.execute(
                insert(effects)
                .values(key=key.name, repository_id=key.repository.id, **changed)
                .on_conflict_do_update(index_elements=["key"], set_=changed)
            )


def comment_key(group: int) -> str:
    """Return `comment:group:ID`, the key of the effect that writes the verdict comment of the group with id `group`."""
    return f"comment:group:{group}"


def check_key(group: int, pull: int, head_sha: str) -> str:
    """Return the key, a string, of the effect that writes a group's check run on a pull request.

    `group` is the group's id. The check run stands on the commit `head_sha` of pull request number `pull`.
    """
    return f"check:group:{group}:pull:{pull}:{head_sha}"


def config_check_key(pull: int, head_sha: str) -> str:
    """Return the key, a string, of the effect that writes a check run about an invalid `.github/r4p.yml`.

    The check run stands on the commit `head_sha` of pull request number `pull`.
    """
    return f"check:config:pull:{pull}:{head_sha}"


def reply_key(answers: CommandSource) -> str:
    """Return `reply:SOURCE`, the key of the effect that replies to commands in the comment or review `answers`."""
    return f"reply:{answers}"


def draft_key(attempt: int) -> str:
    """Return `draft:ID`, the key of the effect that opens an alternative's draft pull request.

    `attempt` is the id of the attempt that wrote the alternative.
    """
    return f"draft:{attempt}"


def draft_reply_key(draft: int, asked_in: CommandSource) -> str:
    """Return the key, a string, of the effect that replies whether a draft pull request was opened.

    `draft` is the id of its row in `drafts`, and `asked_in` the comment or review that asked for it.
    """
    return f"draft-told:{draft}:{asked_in}"


def refusal_key(asked_in: CommandSource) -> str:
    """Return `not-judged:SOURCE`, the key of the effect that replies that the bot could judge nothing.

    `asked_in` is the comment or review that asked for a verdict or an alternative.
    """
    return f"not-judged:{asked_in}"
