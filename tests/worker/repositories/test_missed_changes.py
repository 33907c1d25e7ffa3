"""What changed on GitHub without a webhook is looked at again, and lost commands are carried out once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.issues import groups, reconciliation, webhook_state
from app.db.store.queue import jobs
from app.events import parse
from app.github.api.rest_reader import Thread
from app.jobs.job import EvaluateIssue, LocateIssues, Planned, Reconcile, RunCommand
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, area
from worker.repositories import missed_changes
from worker.repositories.missed_changes import MissedChanges, plan_looks

pytestmark = pytest.mark.services

JOB = Reconcile(7, 70)


@pytest.fixture
def scene(scene):
    scene.begin("w * h")
    scene.store_evaluation()
    return scene


def look(scene, least=10.0):
    """Search the repository for missed changes, and return the jobs that are ready afterwards."""
    handler = MissedChanges(scene.github, least, scene.app.slug)
    carry_out(scene.database, handler, Reconcile(scene.installation, scene.id))
    return waiting(scene.database)


def forget_jobs(scene):
    with transaction(scene.database) as connection:
        connection.execute(text("delete from jobs"))


def list_evaluated(jobs):
    return [job.issue for job in jobs if isinstance(job, EvaluateIssue)]


def list_waits(scene, least=10.0):
    look(scene, least)
    seconds = "round(extract(epoch from run_after - created_at))"
    with transaction(scene.database) as connection:
        query = f"select {seconds} from jobs where kind = 'evaluate_issue'"
        return [int(found) for found in connection.scalars(text(query))]


def test_an_evaluation_after_a_missed_change_waits_as_after_an_event(scene):
    assert list_waits(scene) == [10]


def test_the_repositorys_own_quiet_time_holds_for_missed_changes(scene):
    with transaction(scene.database) as connection:
        config = CONFIG.replace("quiet_minutes: 0", "quiet_minutes: 5")
        groups.save_config(connection, scene.id, text=config, error=None)
    assert list_waits(scene) == [300]


def test_a_repository_that_was_taken_from_us_unheard_is_no_failure(scene):
    scene.standin.remove_repositories(scene.installation, [scene.repo])
    assert look(scene) == []


def test_a_change_is_looked_at_once_and_an_idle_repository_costs_no_quota(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(seconds=-5))
    assert list_evaluated(look(scene)) == [scene.issue]
    forget_jobs(scene)
    assert look(scene) == []
    mark = scene.standin.mark()
    assert look(scene) == []
    assert [request.status for request in scene.standin.history(mark)] == [304]


def test_every_missed_change_is_found_however_many_pages_there_are(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "MOST_PAGES", 2)
    monkeypatch.setattr(missed_changes, "PER_PAGE", 2)
    monkeypatch.setattr("app.github.api.rest_reader.PER_PAGE", 2)
    pulls = []
    for number in range(3):
        scene.standin.advance(2)
        pulls.append(scene.repo.open_pr(f"Fix {number}", files=area("w")).number)
    found = set()
    for _ in range(4):
        jobs = look(scene)
        found |= {job.pull for job in jobs if isinstance(job, LocateIssues)}
        forget_jobs(scene)
    assert found == {*scene.pulls, *pulls}


def test_an_issue_closed_unheard_is_read_again(scene):
    look(scene)
    forget_jobs(scene)
    scene.repo.close(scene.issue)
    assert scene.issue in list_evaluated(look(scene))


def test_an_open_group_is_read_again_within_the_hour(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(seconds=-5))
    look(scene)
    forget_jobs(scene)
    with transaction(scene.database) as connection:
        connection.execute(text("update groups set read_at = now() - interval '61 minutes'"))
    assert list_evaluated(look(scene)) == [scene.issue]


def comment_on_issue(scene, text):
    return str(scene.repo.comment(scene.issue, text, "maintainer")), "comment-{}"


def comment_in_review(scene, text):
    review = scene.repo.review(scene.pulls[0], "COMMENTED", "maintainer", text)
    return f"review-{review}", "{}"


@pytest.mark.parametrize("write", [comment_on_issue, comment_in_review])
def test_a_lost_command_is_carried_out_once(scene, write):
    source, guid = write(scene, "/r4p status")
    for _ in range(2):
        commands = [job for job in look(scene) if isinstance(job, RunCommand)]
        assert [job.asked_in for job in commands] == [source]
        assert commands[0].delivery == guid.format(source)
    with transaction(scene.database) as connection:
        connection.execute(text("update jobs set state = 'done' where kind = 'run_command'"))
    assert [job for job in look(scene) if isinstance(job, RunCommand)] == []


def test_a_review_whose_webhook_arrived_is_not_carried_out_again(scene):
    job = scene.deliver_review("/r4p status")
    with transaction(scene.database) as connection:
        jobs.enqueue(connection, [Planned(job)])
        connection.execute(text("update jobs set state = 'done'"))
    assert [job for job in look(scene) if isinstance(job, RunCommand)] == []


def load_event(scene, guid):
    with transaction(scene.database) as connection:
        stored = webhook_state.load_delivery(connection, guid)
    return replace(parse(stored.event, guid, stored.body), delivery="")


def test_a_rebuilt_review_reads_like_its_webhook(scene):
    job = scene.deliver_review("/r4p agree")
    look(scene)
    assert load_event(scene, job.asked_in) == load_event(scene, job.delivery)


def test_changed_pull_requests_cost_one_call_for_their_reviews(scene):
    for _ in range(30):
        scene.repo.review(scene.pulls[0], "COMMENTED", "reporter", "Why?")
    mark = scene.standin.mark()
    look(scene)
    assert scene.standin.calls(mark).operations["POST /graphql"] == 2  # 20 reviews a page
    look(scene)
    assert scene.standin.calls(mark).operations["POST /graphql"] == 4


def test_commands_in_another_repository_of_the_old_name_are_not_carried_out(scene):
    other = scene.standin.create_repository(f"{scene.repo.full_name}-new", {"a": "1\n"})
    issue = other.open_issue("Area is wrong")
    other.comment(issue, "/r4p verify", "maintainer")
    with transaction(scene.database) as connection:
        statement = text("update repositories set full_name = :name where id = :id")
        connection.execute(statement, {"name": other.full_name, "id": scene.id})
    assert look(scene) == []


def test_bots_edited_and_old_comments_are_no_lost_commands(scene, monkeypatch):
    edited = scene.repo.comment(scene.issue, "/r4p status", "maintainer")
    scene.standin.advance(2)
    scene.repo.edit_comment(edited, "/r4p verify")
    assert [job for job in look(scene) if isinstance(job, RunCommand)] == []
    monkeypatch.setattr(missed_changes, "COMMAND_AGE", timedelta(seconds=-60))
    scene.repo.comment(scene.issue, "/r4p status", "maintainer")
    assert [job for job in look(scene) if isinstance(job, RunCommand)] == []


def test_a_closed_pull_request_without_a_group_is_left_alone():
    now = datetime.now(UTC)
    threads = [Thread(3, True, False, 0, now), Thread(4, True, True, 0, now)]
    assert plan_looks(JOB, threads, {3: [], 4: [9]}, [9]) == [
        EvaluateIssue(7, 70, 9, "reconcile"),
        LocateIssues(7, 70, 4),
    ]


def test_the_time_of_the_last_read_change_is_kept(scene):
    look(scene)
    with transaction(scene.database) as connection:
        until = reconciliation.load_read_until(connection, scene.id)
    assert until <= datetime.now(UTC) - missed_changes.OVERLAP + timedelta(seconds=1)
