"""What we wrote on GitHub: planned, then confirmed or ambiguous. Each method is one committed transaction."""

from dataclasses import dataclass

from sqlalchemy import Engine, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.session import transaction
from app.db.tables.schema import effects
from app.github.api.effect_store import Effect, EffectKey, EffectState
from app.values.identifiers import CommandSource


@dataclass(frozen=True, slots=True)
class PostgresEffects:
    """`EffectStore` on a row per thing of ours."""

    database: Engine

    def load(self, key: EffectKey) -> Effect | None:
        """What is known, None when it was never planned."""
        with transaction(self.database) as connection:
            row = connection.execute(select(effects).where(effects.c.key == key.name)).one_or_none()
        if row is None:
            return None
        return Effect(EffectState(row.state), row.github_id, row.digest)

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """A write is about to leave."""
        self._save(key, state=EffectState.PLANNED, github_id=github_id)

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """It exists under this id and shows this."""
        self._save(key, state=EffectState.CONFIRMED, github_id=github_id, digest=digest)

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Its answer was lost; the id, if one is known, stays."""
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
    """Names a group's canonical comment."""
    return f"comment:group:{group}"


def check_key(group: int, pull: int, head_sha: str) -> str:
    """Names our check run on one head of one pull request for one group."""
    return f"check:group:{group}:pull:{pull}:{head_sha}"


def config_check_key(pull: int, head_sha: str) -> str:
    """Names our check run on a head that would break the configuration."""
    return f"check:config:pull:{pull}:{head_sha}"


def reply_key(answers: CommandSource) -> str:
    """Names our answer to somebody's comment or review."""
    return f"reply:{answers}"


def draft_key(attempt: int) -> str:
    """Names the draft pull request of an alternative, by the attempt that wrote it."""
    return f"draft:{attempt}"


def draft_reply_key(draft: int, asked_in: CommandSource) -> str:
    """Names our word on what came of a draft pull request that was asked for there."""
    return f"draft-told:{draft}:{asked_in}"


def refusal_key(asked_in: CommandSource) -> str:
    """Names our word that nothing could be judged of what was asked for there."""
    return f"not-judged:{asked_in}"
