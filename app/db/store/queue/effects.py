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
        """Load an effect; None when it was never planned."""
        with transaction(self.database) as connection:
            row = connection.execute(select(effects).where(effects.c.key == key.name)).one_or_none()
        if row is None:
            return None
        return Effect(EffectState(row.state), row.github_id, row.digest)

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """Record a write to GitHub that is about to be sent."""
        self._save(key, state=EffectState.PLANNED, github_id=github_id)

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """Record that GitHub holds the written comment, check run or other object under this id with this content."""
        self._save(key, state=EffectState.CONFIRMED, github_id=github_id, digest=digest)

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Record that GitHub's answer to a write was lost; a known id stays."""
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
    """Return the effect key of a group's verdict comment."""
    return f"comment:group:{group}"


def check_key(group: int, pull: int, head_sha: str) -> str:
    """Return the effect key of the check run on one head of a pull request."""
    return f"check:group:{group}:pull:{pull}:{head_sha}"


def config_check_key(pull: int, head_sha: str) -> str:
    """Return the effect key of the check run on a head commit with an invalid `.github/r4p.yml`."""
    return f"check:config:pull:{pull}:{head_sha}"


def reply_key(answers: CommandSource) -> str:
    """Return the effect key of the reply to a command in a comment or review."""
    return f"reply:{answers}"


def draft_key(attempt: int) -> str:
    """Return the effect key of an alternative's draft pull request, by the attempt that wrote the alternative."""
    return f"draft:{attempt}"


def draft_reply_key(draft: int, asked_in: CommandSource) -> str:
    """Return the effect key of the reply about a draft pull request's result."""
    return f"draft-told:{draft}:{asked_in}"


def refusal_key(asked_in: CommandSource) -> str:
    """Return the effect key of the reply that nothing could be judged."""
    return f"not-judged:{asked_in}"
