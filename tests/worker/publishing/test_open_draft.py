"""An alternative becomes one draft pull request, and whoever asked is told once, whatever dies in between."""

from dataclasses import replace
from functools import partial

import pytest

from app.comments import format_draft_marker
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.issues import groups
from app.jobs.draft_jobs import TellDraft
from app.policy.draft_policy import DraftRefusal
from app.values.identifiers import PullNumber
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.github.pull_requests import build_pull
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, FILES, area
from tests.worker.publishing.conftest import DIFF
from worker.publishing.replies import tell_draft

pytestmark = pytest.mark.services

STEERS = DIFF.replace("area.py", ".github/workflows/ci.yml")


def load_draft(database, job):
    with transaction(database) as connection:
        return drafts.load(connection, job.draft)


def open_in_vain(scene, opening, database, job):
    """Why nothing was opened, after one attempt."""
    carry_out(database, opening, job)
    found = load_draft(database, job)
    assert found.pull is None
    assert [type(one) for one in waiting(database)] == [TellDraft]
    return found.not_opened


def test_a_draft_is_opened_once_whatever_dies(twice, scene, opening, wish):
    jobs = []

    def arrange(_database):
        jobs[:] = [wish()]
        return jobs[0]

    def observe(database):
        found = load_draft(database, jobs[0])
        pull = scene.repo.pull(found.pull)
        known = pull.draft, pull.head_ref == f"r4p/issue-{scene.issue}-A1", pull.base_ref
        return known, found.not_opened, [job.kind for job in waiting(database)]

    left = twice(opening, arrange, observe)
    assert left == ((True, True, "main"), None, ["tell_draft"])


def test_the_result_of_a_draft_is_told_once(twice, scene, database, opening, wish):
    told = []

    def arrange(database):
        job = wish()
        with transaction(database) as connection:
            drafts.save(connection, job.draft, PullNumber(12))
        told[:] = [format_draft_marker(job.draft, load_draft(database, job).asked.where)]
        return TellDraft(scene.installation, scene.id, job.draft)

    def observe(_database):
        bodies = [one.body for one in scene.repo.comments(scene.issue) if told[0] in one.body]
        return ["draft pull request: #12" in body for body in bodies]

    assert twice(partial(tell_draft, scene.github), arrange, observe) == [True]


def test_the_branch_is_that_of_the_rivals(scene, opening, database, wish):
    job = wish()
    scene.repo.commit(FILES | {"new.py": "x = 1\n"}, branch="release")
    with transaction(database) as connection:
        row = build_pull(scene.pulls[0], "open", "a" * 40, "b" * 40, "release")
        groups.upsert_pulls(connection, scene.id, [row])
    carry_out(database, opening, job)
    assert scene.repo.pull(load_draft(database, job).pull).base_ref == "release"


def test_without_a_rival_it_is_the_default_branch(scene, opening, database, wish):
    job = wish()
    with transaction(database) as connection:
        connection.exec_driver_sql("delete from candidates")
    carry_out(database, opening, job)
    assert scene.repo.pull(load_draft(database, job).pull).base_ref == "main"


def test_code_that_has_moved_on_is_said(scene, opening, database, wish):
    job = wish()
    scene.repo.commit(area("w + h + 1"))
    assert open_in_vain(scene, opening, database, job) is DraftRefusal.MOVED


def test_a_stored_diff_is_not_believed(scene, opening, database, wish):
    assert open_in_vain(scene, opening, database, wish(STEERS)) is DraftRefusal.BAD_DIFF


def test_a_setting_that_was_taken_back_holds(scene, opening, database, wish):
    assert open_in_vain(scene, opening, database, wish(config=CONFIG)) is DraftRefusal.NOT_WANTED


@pytest.mark.parametrize(
    ("rights", "why"),
    [
        (None, DraftRefusal.NOT_INSTALLED),
        ({"metadata": "read"}, DraftRefusal.NO_RIGHT),
        ({"contents": "write", "metadata": "read"}, DraftRefusal.NO_RIGHT),
    ],
)
def test_a_right_that_is_missing_is_said(scene, opening, database, wish, rights, why):
    assert open_in_vain(scene, opening, database, wish(rights=rights)) is why


@pytest.mark.parametrize(
    ("replies", "token_refusal", "why"),
    [
        ([Reply(403)], None, DraftRefusal.NO_RIGHT),
        ([Reply(422)], None, DraftRefusal.REFUSED),
        ([Reply(200, {"id": 7})], Reply(404), DraftRefusal.REFUSED),
    ],
    ids=["installation forbidden", "installation unprocessable", "token gone"],
)
def test_a_refusal_before_the_first_look_is_said(
    scene, opening, database, wish, replies, token_refusal, why
):
    job = wish()
    with LocalGitHub().running() as server, connect(server.url) as github:
        server.replies, server.token_refusal = list(replies), token_refusal
        assert open_in_vain(scene, replace(opening, github=github), database, job) is why


def test_a_branch_of_somebody_elses_is_said(scene, opening, database, wish):
    job = wish()
    scene.repo.commit(area("w"), branch=f"r4p/issue-{scene.issue}-A1")
    assert open_in_vain(scene, opening, database, job) is DraftRefusal.BRANCH_TAKEN


def test_a_branch_that_is_gone_is_said(scene, opening, database, wish):
    job = wish()
    with transaction(database) as connection:
        row = build_pull(scene.pulls[0], "open", "a" * 40, "b" * 40, "gone")
        groups.upsert_pulls(connection, scene.id, [row])
    assert open_in_vain(scene, opening, database, job) is DraftRefusal.NO_CODE


def test_a_repeated_request_is_answered_unless_the_draft_is_open(scene, opening, database, wish):
    job = wish()
    scene.repo.commit(area("w + h + 1"))
    assert open_in_vain(scene, opening, database, job) is DraftRefusal.MOVED
    attempt = load_draft(database, job).attempt
    with transaction(database) as connection:
        again = drafts.request_draft(connection, scene.id, attempt, DraftRequest("901", 3, "octo"))
        assert (again.not_opened, again.asked.where) == (None, "901")
        drafts.save(connection, again.id, PullNumber(12))
        late = drafts.request_draft(connection, scene.id, attempt, DraftRequest("902", 3, "mona"))
        assert (late.pull, late.asked.where) == (12, "901")
        assert drafts.list_pulls(connection, scene.id) == {12}
