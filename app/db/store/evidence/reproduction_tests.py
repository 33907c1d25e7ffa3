"""Store the reproduction tests of one evaluation: what the engine is asked for, and the scripts that it wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, case, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.evidence.group_tests import REASON_CHARACTERS
from app.db.tables.schema import evaluations, group_tests, reproduction_tests
from app.values.identifiers import EvaluationId
from model.reproduction.example_search import ExampleFile
from model.reproduction.reproduction_test import MOST_CHARACTERS

MOST_TESTS: Final = 8
"""Most scripts of one evaluation that are stored and read."""
EXAMPLE_CHARACTERS: Final = 60_000
"""Longest beginning of a test file that is stored for the engine."""
WRITTEN_WITHIN: Final = timedelta(minutes=4)
"""Time for which a group's tests wait for the engine."""


@dataclass(frozen=True, slots=True)
class WritingTask:
    """What the engine is asked for."""

    tests: int
    example: ExampleFile | None
    """The test file of the base that is nearest to the issue; None: there is none."""


@dataclass(frozen=True, slots=True)
class WrittenScripts:
    """What the engine wrote for one evaluation."""

    texts: tuple[str, ...] = ()
    failure: str | None = None
    """Why there is no script, for people."""
    is_awaited: bool = False
    """The engine has not ended, and its time is not over."""


def request(connection: Connection, identity: EvaluationId, task: WritingTask | str) -> None:
    """Store what the engine is asked for, or why it is not asked. A second call for `identity` changes nothing."""
    values: dict[str, Any] = {"evaluation_id": identity}
    if isinstance(task, str):
        values |= {"wanted": 0, "failure": task, "finished_at": func.now()}
    else:
        values |= {"wanted": task.tests, **_write_example(task.example)}
    connection.execute(insert(reproduction_tests).values(values).on_conflict_do_nothing())


def copy_scripts(connection: Connection, identity: EvaluationId, tests: int) -> bool:
    """Store the newest scripts that the engine wrote for the same issue text on the same base; return False without any.

    The evaluation `identity` gets them instead of a request of `tests` scripts, and they cost no tokens.
    """
    now_wanted, earlier = evaluations.alias(), evaluations.alias()
    own_base, base = group_tests.alias(), group_tests.alias()
    scripts = connection.scalar(
        select(reproduction_tests.c.scripts)
        .join(earlier, earlier.c.id == reproduction_tests.c.evaluation_id)
        .join(base, base.c.evaluation_id == earlier.c.id)
        .join(now_wanted, now_wanted.c.group_id == earlier.c.group_id)
        .join(own_base, own_base.c.evaluation_id == now_wanted.c.id)
        .where(
            now_wanted.c.id == identity,
            earlier.c.id != identity,
            earlier.c.issue_title == now_wanted.c.issue_title,
            earlier.c.issue_body == now_wanted.c.issue_body,
            base.c.base_sha == own_base.c.base_sha,
            reproduction_tests.c.wanted == tests,
            _count_listed(reproduction_tests.c.scripts) > 0,
        )
        .order_by(earlier.c.id.desc())
        .limit(1)
    )
    if scripts is None:
        return False
    copied = {"evaluation_id": identity, "wanted": tests, "scripts": _read_texts(scripts)}
    values = insert(reproduction_tests).values(**copied, finished_at=func.now())
    connection.execute(values.on_conflict_do_nothing())
    return True


def _count_listed(document: ColumnElement[Any]) -> ColumnElement[Any]:
    """Build the SQL that counts a JSON list; 0 for any other document, which the process that reads strangers may write."""
    is_list = func.jsonb_typeof(document) == "array"
    return case((is_list, func.jsonb_array_length(document)), else_=0)


def _write_example(example: ExampleFile | None) -> dict[str, str]:
    if example is None:
        return {}
    text = example.text.replace("\0", "")[:EXAMPLE_CHARACTERS]
    return {"example_path": example.path, "example_text": text}


def load_task(connection: Connection, identity: EvaluationId) -> WritingTask | None:
    """Load what the engine is asked for; None when the engine has ended, or was never asked."""
    row = connection.execute(
        select(reproduction_tests).where(
            reproduction_tests.c.evaluation_id == identity,
            reproduction_tests.c.finished_at.is_(None),
        )
    ).one_or_none()
    if row is None:
        return None
    has_example = row.example_path is not None and row.example_text is not None
    example = ExampleFile(row.example_path, row.example_text) if has_example else None
    return WritingTask(min(row.wanted, MOST_TESTS), example)


def finish(
    connection: Connection,
    identity: EvaluationId,
    texts: Sequence[str],
    tokens: int,
    failure: str | None = None,
) -> None:
    """Store the scripts, the tokens that they cost and, where there is none, why. The example is not kept."""
    is_row = reproduction_tests.c.evaluation_id == identity
    stored = [text.encode(errors="replace").decode().replace("\0", "") for text in texts]
    connection.execute(
        update(reproduction_tests)
        .where(is_row, reproduction_tests.c.finished_at.is_(None))
        .values(
            finished_at=func.now(),
            scripts=stored[:MOST_TESTS],
            tokens=tokens,
            failure=failure,
            example_path=None,
            example_text=None,
        )
    )


def load_scripts(connection: Connection, identity: EvaluationId) -> WrittenScripts | None:
    """Load what the engine wrote for the evaluation `identity`; None when it was not asked."""
    columns = reproduction_tests.c
    late = (func.now() > columns.created_at + WRITTEN_WITHIN).label("late")
    row = connection.execute(
        select(columns.finished_at, columns.scripts, columns.failure, late).where(
            columns.evaluation_id == identity
        )
    ).one_or_none()
    if row is None:
        return None
    if row.finished_at is None:
        why = "the engine did not write them in time"
        return WrittenScripts(failure=why if row.late else None, is_awaited=not row.late)
    texts = tuple(_read_texts(row.scripts))
    failure = None if row.failure is None else row.failure[:REASON_CHARACTERS]
    return WrittenScripts(texts, failure)


def _read_texts(document: Any) -> list[str]:
    """Return the stored scripts as far as they have their form; the process that wrote them read strangers' text."""
    listed = document if isinstance(document, list) else []
    texts = [text for text in listed if isinstance(text, str) and len(text) <= MOST_CHARACTERS]
    return texts[:MOST_TESTS]
