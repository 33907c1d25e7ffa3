"""Each process logs in under a role of its own, and PostgreSQL refuses what is not its work."""

import psycopg
import pytest
from sqlalchemy import func, inspect, make_url, select, text
from sqlalchemy.exc import ProgrammingError

from app.db import process_roles
from app.db.process_grants import GRANTS, VIEWS
from app.db.process_roles import NoRoles
from app.db.row_rules import FOLLOW_UPS, ROW_RULES
from app.db.store.evidence import group_tests, reproduction_tests
from app.db.store.issues import evaluations, votes
from app.db.store.queue import jobs
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import metadata, patches
from app.db.tables.schema import reproduction_tests as reproduction_table
from app.jobs.draft_jobs import TellDraft
from app.jobs.job import Planned, PublishVerdict, Queue, VerifyGroup
from app.values.identifiers import EvaluationId
from app.web.stored_metrics import FAMILIES as QUEUE_FAMILIES
from app.web.stored_metrics import StoredMetrics
from app.web.verdict_metrics import FAMILIES as VERDICT_FAMILIES
from app.web.verdict_metrics import VerdictMetrics
from tests.app.db.process_scene import OTHER, OWN, SECRET
from tests.builders.queue_rows import LEASE

pytestmark = pytest.mark.services


def test_without_the_right_to_create_roles_the_error_names_the_fix_and_the_bot_works(services):
    with services.database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create role plain login")
        try:
            name = make_url(url).database
            connection.execute(f"alter database {name} owner to plain")
            plain = make_url(url).set(username="plain").render_as_string(hide_password=False)
            with pytest.raises(NoRoles, match="create role r4p_web nologin"):
                process_roles.create_roles(plain)
            process_roles.refresh_grants(plain)
        finally:
            connection.execute(f"alter database {name} owner to postgres")
            connection.execute("drop owned by plain")
            connection.execute("drop role plain")


def test_every_table_names_the_processes_that_may_use_it(scene):
    inspector = inspect(scene.owner)
    with scene.owner.connect() as connection:
        partitions = set(
            connection.scalars(text("select relname from pg_class where relispartition"))
        )
    live = {*inspector.get_table_names()} - partitions - {"alembic_version"}
    assert live == {*metadata.tables}
    missing = live - GRANTS.keys()
    assert not missing, f"name these tables in app/db/process_grants.py: {sorted(missing)}"
    assert GRANTS.keys() - live == set()
    assert VIEWS.keys() == {*inspector.get_view_names()}
    assert {rule.table for rule in ROW_RULES} <= GRANTS.keys()


INSERT_JOB = "insert into jobs (kind, queue, key, payload, installation_id) values"
REFUSED = {
    "agents reads a delivery": ("agents", "select body from delivery_bodies"),
    "agents reads effects": ("agents", "select 1 from effects"),
    "agents reads cached answers of GitHub": ("agents", "select body from etags"),
    "agents reads the votes": ("agents", "select reply from votes"),
    "agents reads issue texts": ("agents", "select body from groups"),
    "agents writes an effect": (
        "agents",
        "insert into effects (key, repository_id, state, content, job_id, token) values ('comment:group:1', 70, 'planned', '', 1, 1)",
    ),
    "agents writes a verdict": ("agents", "update evaluations set state = 'verified'"),
    "agents changes settings": ("agents", "update repositories set config_text = 'mode: enforce'"),
    "agents adds a job of the agents": (
        "agents",
        f"{INSERT_JOB} ('propose_patches', 'agents', 'k', '{{}}', 7)",
    ),
    "agents adds a purge": ("agents", f"{INSERT_JOB} ('purge_data', 'github', 'k', '{{}}', 7)"),
    "agents stores a patch under another's name": (
        "agents",
        "insert into patches (sha256, diff, edit) values (repeat('a', 64), 'evil', 'e')",
    ),
    "verify reads a delivery": ("verify", "select 1 from deliveries"),
    "verify reads settings": ("verify", "select config_text from repositories"),
    "verify writes an effect": (
        "verify",
        "insert into effects (key, repository_id, state, content, job_id, token) values ('comment:group:1', 70, 'planned', '', 1, 1)",
    ),
    "verify adds a purge": ("verify", f"{INSERT_JOB} ('purge_data', 'github', 'k', '{{}}', 7)"),
    "verify moves a job to another queue": ("verify", "update jobs set queue = 'github'"),
    "verify changes another's job": ("verify", "delete from jobs"),
    "verify makes a champion": (
        "verify",
        "insert into model_aliases (alias, why) values ('champion', 'I say so')",
    ),
    "verify changes the calibrators": ("verify", "update calibrators set state = 'active'"),
    "verify switches its rules off": ("verify", "alter table jobs disable row level security"),
    "tests reads an issue's text": ("tests", "select issue_body from evaluations"),
    "tests reads settings": ("tests", "select 1 from repositories"),
    "tests writes a verdict": ("tests", "update evaluations set state = 'verified'"),
    "tests changes the command": ("tests", "update group_tests set command = 'pytest'"),
    "tests reads the votes": ("tests", "select 1 from votes"),
    "tests adds a job of the tests": (
        "tests",
        f"{INSERT_JOB} ('run_tests', 'tests', 'k', '{{}}', 7)",
    ),
    "verify reads test results": ("verify", "select results from group_tests"),
    "verify asks for more tests": ("verify", "update reproduction_tests set wanted = 8"),
    "verify changes a checklist": ("verify", "update rubrics set document = '[]'"),
    "agents reads a checklist": ("agents", "select 1 from rubrics"),
    "tests writes a script": ("tests", "update reproduction_tests set scripts = '[]'"),
    "tests reads the example": ("tests", "select example_text from reproduction_tests"),
    "train publishes": ("train", "update evaluations set state = 'published'"),
    "train reads a delivery": ("train", "select 1 from deliveries"),
    "train adds a job": ("train", f"{INSERT_JOB} ('publish_verdict', 'github', 'k', '{{}}', 7)"),
    "writer edits a verdict comment": (
        "writer",
        "insert into effects (key, repository_id, state, content, job_id, token) values ('comment:group:1', 70, 'planned', '', 1, 1)",
    ),
    "writer reads an issue's text": ("writer", "select issue_body from evaluations"),
    "web reads the replies of the model": ("web", "select reply from votes"),
    "web writes a patch": (
        "web",
        "insert into patches (sha256, diff, edit) values (repeat('a', 64), 'evil', 'e')",
    ),
    "web makes a champion": (
        "web",
        "insert into model_aliases (alias, why) values ('champion', 'I say so')",
    ),
    "web changes a verdict": ("web", "update evaluations set state = 'published'"),
    "web reads stored bodies": ("web", "select body from delivery_bodies"),
    "web adds a verdict": ("web", f"{INSERT_JOB} ('publish_verdict', 'github', 'k', '{{}}', 7)"),
    "github makes a champion": (
        "github",
        "insert into model_aliases (alias, why) values ('champion', 'I say so')",
    ),
}


@pytest.mark.parametrize(("process", "statement"), REFUSED.values(), ids=REFUSED.keys())
def test_postgresql_refuses_what_is_not_the_processs_work(scene, process, statement):
    with pytest.raises(ProgrammingError) as refused:
        scene.attempt(process, statement)
    assert isinstance(refused.value.orig, psycopg.errors.InsufficientPrivilege)


def test_the_judging_worker_writes_the_scripts_of_its_own_group_only(scene):
    database = scene.log_in("verify")
    with database.begin() as connection:
        task = reproduction_tests.load_task(connection, scene.own.evaluation)
        assert task == reproduction_tests.WritingTask(2, None)
        assert reproduction_tests.load_task(connection, scene.other.evaluation) is None
        reproduction_tests.finish(connection, scene.own.evaluation, ["print()"], 7)
        reproduction_tests.finish(connection, scene.other.evaluation, ["print()"], 7)
    database.dispose()
    with scene.owner.connect() as connection:
        written = connection.scalars(
            select(reproduction_table.c.evaluation_id).where(reproduction_table.c.tokens == 7)
        ).all()
    assert written == [scene.own.evaluation]


def test_the_judging_worker_keeps_and_reads_the_checklists_of_its_own_group_only(scene):
    document = {"lines": []}
    with scene.owner.begin() as connection:
        votes.save_rubric(connection, scene.other.evaluation, "theirs", document)
    database = scene.log_in("verify")
    with database.begin() as connection:
        for _ in range(2):
            votes.save_rubric(connection, scene.own.evaluation, "ours", document)
        assert votes.find_rubric(connection, scene.own.evaluation, "ours") == document
        assert votes.find_rubric(connection, scene.other.evaluation, "theirs") is None
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        database.begin() as connection,
    ):
        votes.save_rubric(connection, scene.other.evaluation, "ours", document)
    database.dispose()


@pytest.mark.parametrize("process", ["verify", "agents"])
def test_a_process_sees_only_the_evaluation_that_it_works_on(scene, process):
    database = scene.log_in(process)
    with database.connect() as connection:
        assert (
            evaluations.load(connection, scene.own.evaluation).candidates[0].diff
            == "diff of our own"
        )
        assert evaluations.load(connection, scene.other.evaluation) is None
        seen = connection.scalars(select(patches.c.diff)).all()
        assert SECRET.encode() not in seen
        assert set(connection.scalars(select(evaluation_table.c.issue_title))) <= {
            "Crash",
            "Their title",
        }
        assert scene.other.evaluation not in connection.scalars(select(evaluation_table.c.id)).all()
        hidden = select(func.count()).select_from(text("votes"))
        assert connection.scalar(hidden) == 0
    database.dispose()


def test_a_worker_sees_and_finishes_the_tests_of_its_own_group_only(scene):
    database = scene.log_in("tests")
    with database.connect() as connection:
        task = group_tests.load_task(connection, scene.own.evaluation)
        assert [patch.diff for patch in task.patches] == ["diff of our own"]
        assert group_tests.load_task(connection, scene.other.evaluation) is None
        assert SECRET.encode() not in connection.scalars(select(patches.c.diff)).all()
    database.dispose()
    finish = "update group_tests set finished_at = now() where evaluation_id = :id"
    assert scene.attempt("tests", finish, id=scene.own.evaluation) == 1
    assert scene.attempt("tests", finish, id=scene.other.evaluation) == 0
    database = scene.log_in("tests")
    with database.connect() as connection:
        assert reproduction_tests.load_scripts(connection, scene.own.evaluation) is not None
        assert reproduction_tests.load_scripts(connection, scene.other.evaluation) is None
    database.dispose()
    keep = (
        "insert into test_baselines (repository_id, base_sha, command, environment, document)"
        " values ({}, 'b', 'c', 'e', '')"
    )
    assert scene.attempt("tests", keep.format(OWN[1])) == 1
    assert not scene.has_effect("tests", keep.format(OTHER[1]))


@pytest.mark.parametrize(
    ("process", "other_queue"),
    [
        ("verify", Queue.AGENTS),
        ("agents", Queue.VERIFY),
        ("train", Queue.VERIFY),
        ("tests", Queue.AGENTS),
    ],
)
def test_a_process_claims_no_job_of_another_queue(scene, process, other_queue):
    database = scene.log_in(process)
    assert jobs.claim_next(database, other_queue, LEASE) is None
    database.dispose()
    statement = "update jobs set state = 'done' where queue = :queue"
    assert scene.attempt(process, statement, queue=other_queue.value) == 0
    statement = "update evaluations set fingerprint = '' where id = :id"
    if process == "agents":
        assert scene.attempt(process, statement, id=scene.other.evaluation) == 0


@pytest.mark.parametrize(
    ("process", "follow_up"),
    [("verify", PublishVerdict), ("agents", VerifyGroup), ("tests", PublishVerdict)],
)
def test_a_worker_stores_only_the_job_that_follows_its_own(scene, process, follow_up):
    database = scene.log_in(process)
    for place, evaluation in (
        (OTHER, scene.other.evaluation),
        (OWN, scene.other.evaluation),
        (OTHER, scene.own.evaluation),
    ):
        with (
            pytest.raises(ProgrammingError, match="row-level security"),
            database.begin() as connection,
        ):
            jobs.enqueue(connection, [Planned(follow_up(*place, evaluation))])
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        database.begin() as connection,
    ):
        jobs.enqueue(connection, [Planned(follow_up(*OWN, scene.own.evaluation), wish="command:1")])
    with database.connect() as connection:  # rolled back
        for _ in range(2):
            (stored,) = jobs.enqueue(connection, [Planned(follow_up(*OWN, scene.own.evaluation))])
        assert stored.queue is follow_up.queue
    database.dispose()


def test_the_web_process_may_read_all_that_it_measures(scene):
    database = scene.log_in("web")
    stored = [*StoredMetrics(database).collect(), *VerdictMetrics(database).collect()]
    names = {metric.name for metric in stored}
    assert names == {family.name for family in (*QUEUE_FAMILIES, *VERDICT_FAMILIES)}
    database.dispose()


def test_follow_ups_have_the_keys_that_the_jobs_give_themselves():
    evaluation = EvaluationId(5)
    expected = [
        PublishVerdict(*OWN, evaluation),
        VerifyGroup(*OWN, evaluation),
        PublishVerdict(*OWN, evaluation),
        TellDraft(*OWN[:2], 6),
    ]
    for follow, job in zip(FOLLOW_UPS.values(), expected, strict=True):
        payload = job.to_payload()
        values = [str(payload[name]) for name in follow.key_fields]
        assert (follow.kind, follow.queue) == (job.kind, job.queue.value)
        assert ":".join([follow.kind, *values]) == job.key
