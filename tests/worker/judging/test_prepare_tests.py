"""A group with tests hands its base's tree to their worker, or says in one line why none run."""

import pytest
from sqlalchemy import insert, select

from app.db.session import transaction
from app.db.store.evidence import group_tests, reproduction_tests
from app.db.tables.schema import agent_runs
from app.db.tables.schema import group_tests as tests_table
from app.db.tables.schema import reproduction_tests as scripts_table
from app.jobs.suite_jobs import PrepareTests, RunTests, WriteTests
from app.settings import CeilingSettings, SuiteSettings
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, RESULTS, area
from worker.git.tree_export import TreeExporter
from worker.judging.prepare_tests import PrepareTestsHandler
from worker.judging.tree_handover import TreeHandover

pytestmark = pytest.mark.services

WITH_TESTS = CONFIG + "tests: {command: pytest -q, environment: py311, seconds: 60}\n"
WITH_WRITTEN = WITH_TESTS.replace("seconds: 60", "seconds: 60, reproduction: true")


@pytest.fixture
def prepare(scene, tmp_path):
    """`prepare(tests=…, written=…, has_model=…, **ceilings)`: the handler."""

    def build(tests=tmp_path, written=0, has_model=True, **ceilings):
        exporter = TreeExporter(scene.suite_trees.directory)
        handover = TreeHandover(scene.github, scene.checkouts, exporter)
        return PrepareTestsHandler(
            handover,
            SuiteSettings(tests=tests, reproduction_tests=written),
            CeilingSettings(**ceilings),
            has_model,
        )

    return build


def collect(scene, config=WITH_TESTS):
    """A collected group of a repository with tests; the job that prepares them."""
    scene.begin(*RESULTS, config=config)
    scene.collect()
    (job,) = [job for job in waiting(scene.database) if isinstance(job, PrepareTests)]
    return job


def read(scene, job):
    with transaction(scene.database) as connection:
        return group_tests.load(connection, job.evaluation)


def list_kinds(scene):
    return [job.kind for job in waiting(scene.database)]


def test_a_group_of_a_repository_without_tests_plans_none(scene):
    scene.begin(*RESULTS)
    scene.collect()
    assert list_kinds(scene) == ["verify_group"]


def test_the_tree_of_the_base_is_handed_over_once(twice, scene, prepare):
    def observe(database):
        with transaction(database) as connection:
            rows = connection.execute(select(tests_table)).all()
        (row,) = rows
        tree = scene.suite_trees.find(row.evaluation_id)
        begun = row.started_at is not None
        return begun, row.failure, sorted(path.name for path in tree.iterdir()), list_kinds(scene)

    left = twice(prepare(), lambda _: collect(scene), observe)
    assert left[:2] == (True, None)
    assert "area.py" in left[2]
    assert sorted(left[3]) == ["run_tests", "verify_group"]


def test_the_tests_are_those_of_the_default_branch_at_the_base_of_the_first_rival(scene, prepare):
    job = collect(scene)
    carry_out(scene.database, prepare(), job)
    wanted = read(scene, job).request
    pull = scene.repo.pull(scene.pulls[0])
    assert (wanted.command, wanted.environment, wanted.seconds) == ("pytest -q", "py311", 60)
    assert (wanted.base_branch, wanted.base_sha) == ("main", pull.base_sha)
    assert RunTests(**job.to_payload()) in waiting(scene.database)


def test_tests_that_only_a_pull_request_wants_do_not_run(scene):
    scene.begin("w * h")
    files = area("w - h") | {".github/r4p.yml": WITH_TESTS}
    scene.pulls.append(scene.repo.open_pr("Run mine", f"Fixes #{scene.issue}", files=files).number)
    scene.collect()
    assert list_kinds(scene) == ["verify_group"]


def test_without_the_operators_switch_nothing_runs_and_one_line_says_so(scene, prepare):
    job = collect(scene)
    carry_out(scene.database, prepare(tests=None), job)
    assert read(scene, job).outcome.failure == "the operator of this bot runs no tests"
    assert "run_tests" not in list_kinds(scene)
    assert scene.suite_trees.find(job.evaluation) is None


def test_a_base_that_is_gone_is_one_line(scene, prepare):
    job = collect(scene)
    with transaction(scene.database) as connection:
        connection.execute(tests_table.update().values(base_sha="d" * 40))
    carry_out(scene.database, prepare(), job)
    why = "the base commit ddddddd cannot be read any more"
    assert read(scene, job).outcome.failure == why
    assert "run_tests" not in list_kinds(scene)


def test_the_daily_budget_of_an_installation_is_kept(scene, prepare):
    job = collect(scene)
    carry_out(scene.database, prepare(max_test_groups_per_installation_day=1), job)
    assert read(scene, job).outcome.failure is None
    scene.repo.push(scene.pulls[0], files=area("h * w"))
    scene.collect(trigger="command", asked_in=900)
    later = [job for job in waiting(scene.database) if isinstance(job, PrepareTests)][-1]
    carry_out(scene.database, prepare(max_test_groups_per_installation_day=1), later)
    why = "the operator's daily budget of 1 groups with tests is used up"
    assert read(scene, later).outcome.failure == why


def test_a_new_group_ends_the_tests_of_the_old_one(scene, prepare):
    job = collect(scene)
    carry_out(scene.database, prepare(), job)
    scene.repo.push(scene.pulls[0], files=area("h * w"))
    scene.collect(trigger="command", asked_in=900)
    keys = [each.key for each in waiting(scene.database)]
    assert RunTests.build_key(job.evaluation) not in keys


def read_written(scene, job):
    with transaction(scene.database) as connection:
        task = reproduction_tests.load_task(connection, job.evaluation)
        return task, reproduction_tests.load_scripts(connection, job.evaluation)


def test_the_engine_is_asked_for_tests_beside_the_runs_if_both_sides_want_it(scene, prepare):
    job = collect(scene, WITH_WRITTEN)
    carry_out(scene.database, prepare(written=3), job)
    task, scripts = read_written(scene, job)
    assert (task.tests, scripts.is_awaited) == (3, True)
    assert task.example is None  # no test file of this tree is near to the issue
    later = waiting(scene.database)
    assert WriteTests(**job.to_payload()) in later
    assert RunTests(**job.to_payload()) in later


@pytest.mark.parametrize(
    ("body", "wanted", "kinds"),
    [
        ("It adds.", 3, ["verify_group", "run_tests"]),
        ("It adds. Always.", 3, ["verify_group", "write_tests", "run_tests"]),
        ("It adds.", 2, ["verify_group", "write_tests", "run_tests"]),
    ],
    ids=["same issue", "another text", "another number"],
)
def test_scripts_for_an_unchanged_issue_and_base_are_used_again(
    scene, prepare, body, wanted, kinds
):
    job = collect(scene, WITH_WRITTEN)
    carry_out(scene.database, prepare(written=3), job)
    with transaction(scene.database) as connection:
        reproduction_tests.finish(connection, job.evaluation, ["print(1)"], 70)
    scene.repo.edit_issue(scene.issue, body=body)
    scene.pulls.append(
        scene.repo.open_pr("Mine", f"Fixes #{scene.issue}", files=area("h * w")).number
    )
    scene.collect(trigger="command")
    again = [each for each in waiting(scene.database) if isinstance(each, PrepareTests)][-1]
    assert again.evaluation != job.evaluation
    carry_out(scene.database, prepare(written=wanted), again)
    task, scripts = read_written(scene, again)
    is_copied = "write_tests" not in kinds
    assert (task is None, scripts.is_awaited) == (is_copied, not is_copied)
    assert scripts.texts == (("print(1)",) if is_copied else ())
    planned = [each.kind for each in waiting(scene.database) if each.evaluation == again.evaluation]
    assert planned == kinds


@pytest.mark.parametrize(
    "document", [{"0": "print(1)"}, "print(1)", None], ids=["object", "text", "null"]
)
def test_scripts_that_are_no_list_are_not_used_again(scene, prepare, document):
    job = collect(scene, WITH_WRITTEN)
    carry_out(scene.database, prepare(written=3), job)
    with transaction(scene.database) as connection:
        reproduction_tests.finish(connection, job.evaluation, [], 70)
        connection.execute(scripts_table.update().values(scripts=document))
    scene.collect(trigger="command")
    (again,) = {each for each in waiting(scene.database) if isinstance(each, PrepareTests)} - {job}
    carry_out(scene.database, prepare(written=3), again)
    assert read_written(scene, again)[1].is_awaited


def test_no_test_is_written_unless_the_repository_asks(scene, prepare):
    job = collect(scene)
    carry_out(scene.database, prepare(written=3), job)
    assert read_written(scene, job) == (None, None)
    assert "write_tests" not in list_kinds(scene)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "the operator of this bot lets no model write tests"),
        (
            {"written": 3, "has_model": False},
            "this bot has no language model that could write them",
        ),
        (
            {"written": 3, "max_tokens_per_repository_day": 100},
            "the operator's daily budget of 100 tokens for this repository is used up",
        ),
    ],
    ids=["switched off", "consensus", "budget"],
)
def test_where_no_test_is_written_one_line_says_why_and_the_others_run(
    scene, prepare, options, why
):
    job = collect(scene, WITH_WRITTEN)
    with transaction(scene.database) as connection:
        spent = {"repository_id": scene.id, "tokens": 90, "seconds": 1}
        connection.execute(insert(agent_runs).values(spent))
    carry_out(scene.database, prepare(**options), job)
    task, scripts = read_written(scene, job)
    assert task is None
    assert scripts.failure.startswith(why)
    assert list_kinds(scene) == ["verify_group", "run_tests"]
