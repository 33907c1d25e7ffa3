"""Tests for an issue: the engine writes them, and those that show the issue on the base run on every rival."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.db.session import transaction
from app.db.store.evidence import reproduction_tests
from app.db.store.evidence.reproduction_tests import WritingTask
from app.db.store.queue import installation_controls
from app.db.tables.schema import reproduction_tests as table
from app.jobs.job import PublishVerdict
from app.jobs.suite_jobs import WriteTests
from model.domain import ObservedEvidence, RegressionResult, ReproductionResult
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.reproduction.example_search import ExampleFile
from model.reproduction.reproduction_test import MOST_CHARACTERS
from tests.builders.history import stored_verdict
from tests.builders.job_attempts import carry_out, waiting
from tests.worker.testing.test_run_tests import attempt
from worker.queue.errors import Postponed
from worker.testing.write_tests import WriteTestsHandler

pytestmark = pytest.mark.services

SHOWS_IT = """from area import area
print("Issue resolved" if area(2, 3) == 6 else "Issue reproduced")
"""
EXAMPLE = ExampleFile("test_area.py", "from area import area")


@pytest.fixture
def ask(database, store):
    """`ask(*results, tests=2)`: the jobs that write tests for a group whose rivals return these, and run all tests."""

    def build(*results, tests=2):
        job = store(*results)
        with transaction(database) as connection:
            reproduction_tests.request(connection, job.evaluation, WritingTask(tests, EXAMPLE))
        return WriteTests(**job.to_payload()), job

    return build


def fence(text):
    return ScriptLine(reply=f"It adds:\n\n```python\n{text}```\n")


def write(database, job, *lines):
    carry_out(database, WriteTestsHandler(lambda: ScriptedEngine(lines)), job)


def read_row(database, job):
    with transaction(database) as connection:
        return connection.execute(
            select(table).where(table.c.evaluation_id == job.evaluation)
        ).one()


def read_scripts(database, job):
    with transaction(database) as connection:
        return reproduction_tests.load_scripts(connection, job.evaluation)


def test_a_test_for_the_issue_tells_the_rivals_apart(bubblewrap, database, ask, testing, read):
    writing, job = ask("w * h", "w + h + 0", tests=3)
    always = 'print("Issue resolved")\n'
    write(database, writing, fence(SHOWS_IT), fence(always), fence("import ctypes\n"))
    carry_out(database, testing, job)
    kept = RegressionResult(2, 0)
    assert read(job).outcome.results == {
        "#12": ObservedEvidence(kept, reproduction=ReproductionResult(1, 1)),
        "#13": ObservedEvidence(kept, reproduction=ReproductionResult(1, 0)),
    }
    assert waiting(database) == [PublishVerdict(**job.to_payload())]


def test_a_test_that_does_not_show_the_issue_on_the_base_says_nothing(
    bubblewrap, database, ask, testing, read
):
    writing, job = ask("w * h", tests=1)
    write(database, writing, fence('print("Issue resolved")\n'))
    carry_out(database, testing, job)
    why = "none of 1 written test shows the issue on the base"
    assert read(job).outcome.results == {
        "#12": ObservedEvidence(RegressionResult(2, 0), reproduction_unknown=why)
    }


def test_whenever_the_writing_dies_the_scripts_are_stored_once(twice, database, ask):
    def observe(_database):
        with transaction(database) as connection:
            row = connection.execute(select(table)).one()
        return row.scripts, row.failure, row.example_text, [job.kind for job in waiting(database)]

    lines = [fence(SHOWS_IT)] * 4  # a second attempt asks again
    left = twice(
        WriteTestsHandler(lambda: ScriptedEngine(lines)), lambda _: ask("w * h")[0], observe
    )
    assert left == ([SHOWS_IT, SHOWS_IT], None, None, [])


def test_written_tests_count_in_the_days_tokens(database, ask):
    writing, _ = ask("w * h")
    with transaction(database) as connection:
        before = installation_controls.read_daily_usage(connection, stored_verdict.REPOSITORY)
    write(database, writing, fence(SHOWS_IT), fence("# again\n" + SHOWS_IT))
    cost = read_row(database, writing).tokens
    assert cost > 100
    with transaction(database) as connection:
        after = installation_controls.read_daily_usage(connection, stored_verdict.REPOSITORY)
    assert after.repository_tokens == before.repository_tokens + cost
    assert after.installation_tokens == before.installation_tokens + cost


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "the engine failed"),
        (
            [ScriptLine(fail="too busy", repeat=True)],
            "no reply of the engine holds a usable script",
        ),
        (
            [ScriptLine(reply="I cannot.", repeat=True)],
            "no reply of the engine holds a usable script",
        ),
    ],
    ids=["down", "fails", "writes none"],
)
def test_a_failed_writing_is_unknown_and_the_other_tests_run(
    bubblewrap, database, ask, testing, read, lines, why
):
    writing, job = ask("w - h")
    write(database, writing, *lines)
    carry_out(database, testing, job)
    shown = read(job).outcome.results["#12"]
    assert (shown.reproduction, shown.reproduction_unknown) == (None, why)
    assert shown.regression.broken == 1


def test_tests_wait_for_the_engine_but_not_for_ever(bubblewrap, database, ask, testing, read):
    _, job = ask("w * h")
    with pytest.raises(Postponed, match="still writes tests"):
        attempt(database, testing, job, 1)
    with transaction(database) as connection:
        connection.execute(update(table).values(created_at=table.c.created_at - timedelta(hours=1)))
        connection.exec_driver_sql("delete from jobs")
    carry_out(database, testing, job)
    why = "the engine did not write them in time"
    assert read(job).outcome.results["#12"].reproduction_unknown == why


def test_a_writing_that_killed_its_worker_twice_is_not_tried_again(database, ask):
    writing, _ = ask("w * h")
    attempt(database, WriteTestsHandler(lambda: ScriptedEngine([])), writing, 3)
    scripts = read_scripts(database, writing)
    assert (scripts.texts, scripts.failure) == ((), "the worker died while the engine wrote them")


def test_nobody_writes_for_a_group_that_was_superseded_or_not_asked_about(database, ask, store):
    writing, _ = ask("w * h")
    with transaction(database) as connection:
        connection.exec_driver_sql("update evaluations set state = 'superseded'")
    write(database, writing)
    assert read_row(database, writing).finished_at is None
    with transaction(database) as connection:
        connection.execute(table.delete())
    write(database, writing)
    assert read_scripts(database, writing) is None


def test_stored_scripts_are_read_with_their_limits(database, ask):
    writing, _ = ask("w * h")
    scripts = [1, "x" * (MOST_CHARACTERS + 1), *["print()"] * 20]
    with transaction(database) as connection:
        changes = {"scripts": scripts, "failure": "y" * 1_000, "finished_at": table.c.created_at}
        connection.execute(update(table).values(changes))
    read_back = read_scripts(database, writing)
    assert read_back.texts == ("print()",) * 8
    assert len(read_back.failure) == 300
