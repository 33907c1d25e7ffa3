"""A worker that is taken over reaches no other tenant: PostgreSQL refuses each statement, or it finds no row."""

import pytest
from sqlalchemy import select, text

from app.db.store.issues import candidates
from app.db.tables.schema import patches
from tests.app.db.process_scene import OTHER
from tests.builders.history import stored_verdict

pytestmark = pytest.mark.services

_AIM = (
    """payload = payload || '{{"evaluation": {other.evaluation}, "repository": 80, "issue": 9}}'"""
)
_EFFECT = "insert into effects (key, repository_id, state, content, job_id, token) values"
_ATTEMPT = (
    "insert into attempts (repository_id, group_id, guided_by, base_sha, issue_sha256, agent, engine, model, seed, stop,"
    " steps, prompt_tokens, cached_tokens, completion_tokens, seconds)"
    " values ({}, {{own.group}}, {}, 'b', 'i', 'a', 'e', 'm', 9, 'submitted', 1, 0, 0, 0, 0)"
)
_OF_WORKERS = {
    "aims its running job at another issue": f"update jobs set {_AIM} where state = 'running'",
    "aims a waiting job at another issue": f"update jobs set {_AIM} where state = 'ready'",
    "names another delivery": "update jobs set delivery_guid = 'other-delivery' where state = 'running'",
    "marks a waiting job as begun": "update jobs set attempt = 1 where queue = '{queue}' and state = 'ready'",
    "runs a waiting job without a claim": "update jobs set state = 'running' where queue = '{queue}' and state = 'ready'",
    "runs a job again that is done": "update jobs set state = 'running' where state = 'done'",
    "runs a job again that is dead": "update jobs set state = 'ready' where state = 'dead'",
    "says that a job ended now": "update jobs set finished_at = now() where state = 'done'",
    "ends its job in the future": "update jobs set state = 'done', finished_at = 'infinity' where state = 'running'",
    "links another's job to its own": "insert into job_causes (job_id, cause_id) select 1, id from jobs where state = 'running'",
    "reads other issues": "select 1 from groups where id = {other.group}",
    "reads other repositories": "select full_name from repositories where id = 80",
    "reads other alternatives": "select 1 from evaluation_alternatives where attempt_id = {other.attempt}",
    "reads other candidates": "select 1 from candidates where repository_id = 80",
}
ATTACKS = {
    (process, what): (process, statement.replace("{queue}", process))
    for process in ("verify", "agents", "writer", "tests")
    for what, statement in _OF_WORKERS.items()
} | {
    ("verify", "changes a job that follows"): (
        "verify",
        "update jobs set token = 9 where kind = 'publish_verdict'",
    ),
    ("verify", "gives the job that follows another delivery"): (
        "verify",
        "update jobs set delivery_guid = 'other-delivery' where kind = 'publish_verdict'",
    ),
    ("verify", "stores a job that follows another delivery"): (
        "verify",
        (
            "insert into jobs (kind, queue, key, payload, installation_id, repository_id, delivery_guid)"
            " select kind, queue, key, payload, installation_id, repository_id, 'other-delivery'"
            " from jobs where kind = 'publish_verdict'"
        ),
    ),
    ("verify", "reads reasons"): (
        "verify",
        "select reason from evaluation_candidates where evaluation_id = {other.evaluation}",
    ),
    ("verify", "reads checklists"): (
        "verify",
        "select document from rubrics where evaluation_id = {other.evaluation}",
    ),
    ("verify", "reads outcomes"): ("verify", "select 1 from outcomes"),
    ("verify", "reads another's calibrator"): ("verify", "select 1 from calibrators"),
    ("verify", "takes another's verdict"): (
        "verify",
        "update evaluations set state = 'verified', moved_from = {other.evaluation} where id = {own.evaluation}",
    ),
    ("verify", "publishes"): (
        "verify",
        "update evaluations set state = 'published' where id = {own.evaluation}",
    ),
    ("agents", "shows another's alternative"): (
        "agents",
        (
            "insert into evaluation_alternatives (evaluation_id, attempt_id, position)"
            " values ({own.evaluation}, {other.attempt}, 5)"
        ),
    ),
    ("agents", "spends another's budget"): (
        "agents",
        "insert into agent_runs (repository_id, tokens, seconds) values (80, 1000000, 9)",
    ),
    ("agents", "changes another's costs"): (
        "agents",
        "update agent_runs set tokens = 1000000 where repository_id = 80",
    ),
    ("agents", "adds an attempt to another repository"): ("agents", _ATTEMPT.format(80, "null")),
    ("agents", "uses up another's hint"): ("agents", _ATTEMPT.format(70, "{other.attempt}")),
    ("writer", "reads another's verdict comment"): ("writer", "select content from effects"),
    ("writer", "plans another's draft"): (
        "writer",
        f"{_EFFECT} ('draft:{{other.attempt}}', 80, 'confirmed', '', 1, 1)",
    ),
    ("writer", "plans another's setup pull request"): (
        "writer",
        f"{_EFFECT} ('onboarding', 80, 'planned', '', 1, 1)",
    ),
    ("writer", "reads cached answers"): ("writer", "select body from etags"),
    ("writer", "uses up another's write limit"): (
        "writer",
        "update write_limits set state = '{{}}' where installation_id = 8",
    ),
    ("writer", "reads other pull requests"): (
        "writer",
        "select 1 from pull_requests where repository_id = 80",
    ),
    ("writer", "reads other groups' rivals"): (
        "writer",
        "select 1 from group_members where group_id = {other.group}",
    ),
    ("web", "aims a dead job at another issue"): (
        "web",
        f"update jobs set state = 'ready', {_AIM} where state = 'dead'",
    ),
    ("web", "takes a running job from its worker"): (
        "web",
        "update jobs set state = 'ready' where state = 'running'",
    ),
}


@pytest.mark.parametrize(
    ("process", "statement"), ATTACKS.values(), ids=[" ".join(key) for key in ATTACKS]
)
def test_a_process_that_is_taken_over_reaches_no_other_tenant(scene, process, statement):
    assert not scene.has_effect(process, statement)


def test_the_agents_worker_gives_no_pull_request_of_another_tenant_a_false_edit(scene):
    diff = "a diff that everybody can guess"
    lie = {"diff": diff.encode(), "sha": candidates.hash_diff(diff)}
    plant = "insert into patches (sha256, diff, edit) values (:sha, :diff, 'the edit of a rival')"
    database = scene.log_in("agents")
    with database.begin() as connection:
        connection.execute(text(plant), lie)
    database.dispose()
    with scene.owner.begin() as connection:
        candidates.save(connection, OTHER[1], stored_verdict.build_candidate(1, diff))
        edit = connection.scalar(select(patches.c.edit).where(patches.c.sha256 == lie["sha"]))
    assert edit == lie["sha"]
