"""Store which comments with `/r4p` commands the bot answered, so that one person cannot ask for any number."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, delete, exists, func, select, text
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import command_answers, ignored_deliveries
from app.policy.answer_policy import ANSWER_WINDOW, SILENCE_WINDOW, AnswerHistory, SilenceReason
from app.values.identifiers import CommandSource, RepositoryId

KEPT_DAYS: Final = 30
"""Days after which a person is told again that a command needs more permission."""


class AnswerKind(StrEnum):
    """How the bot answered a comment."""

    REPLY = "reply"
    REFUSAL = "refusal"
    """A reply that tells which permission is missing."""
    SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or review with commands, by its author's id and the number of its issue or pull request."""

    repository: RepositoryId
    person: int
    number: int
    source: CommandSource


def load_history(connection: Connection, comment: Comment) -> AnswerHistory:
    """Load what the bot answered to other comments of the author of `comment` in the same repository.

    If an answer to `comment` is stored, later answers do not count, so a second attempt at its job decides alike. Other
    transactions that load the same person's history wait until this transaction ends.
    """
    person = func.hashtext(f"{comment.repository}:{comment.person}")
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext("command_answers"), person)))
    table = command_answers.c
    stored = command_answers.alias()
    own = select(stored.c.answered_at).where(
        stored.c.repository_id == comment.repository, stored.c.source == comment.source
    )
    mine = (
        (table.repository_id == comment.repository)
        & (table.person_id == comment.person)
        & (table.source != comment.source)
        & (table.answered_at < func.coalesce(own.scalar_subquery(), text("'infinity'")))
    )
    answered = (table.answer != AnswerKind.SILENCE) & (
        table.answered_at > func.now() - ANSWER_WINDOW
    )
    refused = exists().where(
        mine, table.number == comment.number, table.answer == AnswerKind.REFUSAL
    )
    silent = exists().where(
        mine, table.answer == AnswerKind.SILENCE, table.answered_at > func.now() - SILENCE_WINDOW
    )
    count = select(func.count()).where(mine, answered).scalar_subquery()
    row = connection.execute(select(count, refused, silent)).one()
    return AnswerHistory(*row)


def record_answer(connection: Connection, comment: Comment, answer: AnswerKind) -> None:
    """Store how the bot answers a comment; a second call for the same comment changes nothing."""
    connection.execute(
        insert(command_answers)
        .values(
            repository_id=comment.repository,
            source=comment.source,
            person_id=comment.person,
            number=comment.number,
            answer=answer.value,
        )
        .on_conflict_do_nothing()
    )


def count_silence(connection: Connection, why: SilenceReason) -> None:
    """Add one to the stored count of deliveries that the bot ignored for the reason `why`."""
    statement = insert(ignored_deliveries).values(reason=why.value, count=1)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["reason"], set_={"count": ignored_deliveries.c.count + 1}
        )
    )


def prune(connection: Connection) -> None:
    """Delete the answers that are older than `KEPT_DAYS`."""
    oldest = func.now() - text(f"interval '{KEPT_DAYS} days'")
    connection.execute(delete(command_answers).where(command_answers.c.answered_at < oldest))
