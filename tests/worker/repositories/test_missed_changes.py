"""What changed on GitHub without a webhook is looked at again, and lost commands are carried out once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

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
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(days=-1))
    assert list_evaluated(look(scene)) == [scene.issue]
    forget_jobs(scene)
    assert look(scene) == []
    mark = scene.standin.mark()
    assert look(scene) == []
    assert [request.status for request in scene.standin.history(mark)] == [304]


def test_every_missed_change_is_found_however_many_pages_there_are(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "MOST_PAGES", 2)
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


class BusyGitHub:
    """Passes all calls on to `github`, and changes something before each page of a list except the first."""

    def __init__(self, github, changes):
        self._github, self._changes = github, iter(changes)

    def __getattr__(self, name):
        return getattr(self._github, name)

    def get_conditional(self, repository, path, query):
        answer = self._github.get_conditional(repository, path, query)
        next(self._changes, lambda: None)()
        return answer


def open_pulls(scene, count):
    """Open pull requests, each in a second of its own."""
    pulls = []
    for number in range(count):
        scene.standin.advance(2)
        pulls.append(scene.repo.open_pr(f"Fix {number}", files=area("w")).number)
    scene.standin.advance(2)
    return pulls


def list_located(jobs):
    return [job.pull for job in jobs if isinstance(job, LocateIssues)]


def test_nothing_is_lost_when_threads_move_while_the_list_is_read(scene, monkeypatch):
    monkeypatch.setattr("app.github.api.rest_reader.PER_PAGE", 2)
    pulls = open_pulls(scene, 6)
    with transaction(scene.database) as connection:
        hour_ago = datetime.now(UTC) - timedelta(hours=1)
        reconciliation.save_read_until(connection, scene.id, hour_ago)
    moves = [
        partial(scene.repo.edit_pr, number, title="Moved") for number in (*scene.pulls, *pulls)
    ]
    monkeypatch.setattr(scene, "github", BusyGitHub(scene.github, moves))
    assert set(list_located(look(scene))) == {*scene.pulls, *pulls}


def test_the_first_look_reads_all_that_is_open_and_begins_with_the_last_change(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "FIRST_LOOK", timedelta(minutes=-5))
    monkeypatch.setattr(missed_changes, "MOST_PAGES", 2)
    monkeypatch.setattr("app.github.api.rest_reader.PER_PAGE", 2)
    pulls = open_pulls(scene, 8)
    scene.repo.close(pulls[3])
    wanted = [*reversed(pulls), *scene.pulls]
    wanted.remove(pulls[3])
    assert list_located(look(scene)) == wanted


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


COMMENTS = "GET /repos/{owner}/{repo}/issues/comments"


def test_one_read_finds_the_comments_below_all_changed_threads(scene):
    for number in (scene.issue, *scene.pulls, *open_pulls(scene, 4)):
        scene.repo.comment(number, "Why?")
    source = scene.repo.comment(scene.pulls[0], "/r4p status", "maintainer")
    mark = scene.standin.mark()
    commands = [job for job in look(scene) if isinstance(job, RunCommand)]
    assert [(job.asked_in, job.number) for job in commands] == [(str(source), scene.pulls[0])]
    look(scene)
    read = [one for one in scene.standin.history(mark) if one.route.endswith("/comments")]
    assert [f"{one.method} {one.route}" for one in read] == [COMMENTS] * 2


def test_every_lost_command_is_found_however_many_pages_of_comments_there_are(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "MOST_PAGES", 2)
    monkeypatch.setattr("app.github.api.rest_reader.PER_PAGE", 2)
    look(scene)
    wanted = set()
    for _ in range(7):
        scene.standin.advance(2)
        wanted.add(str(scene.repo.comment(scene.issue, "/r4p status", "maintainer")))
    looks = 0
    while Reconcile(scene.installation, scene.id) in look(scene):
        forget_reconciling(scene)
        looks += 1
    assert looks > 1
    assert {job.asked_in for job in look(scene) if isinstance(job, RunCommand)} == wanted


def forget_reconciling(scene):
    with transaction(scene.database) as connection:
        connection.execute(text("delete from jobs where kind = 'reconcile' and state = 'ready'"))


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
    monkeypatch.setattr(missed_changes, "COMMAND_AGE", timedelta(days=-1))
    scene.repo.comment(scene.issue, "/r4p status", "maintainer")
    assert [job for job in look(scene) if isinstance(job, RunCommand)] == []


def test_a_closed_pull_request_without_a_group_is_left_alone():
    now = datetime.now(UTC)
    threads = [Thread(3, True, False, now), Thread(4, True, True, now)]
    assert plan_looks(JOB, threads, {3: [], 4: [9]}, [9]) == [
        EvaluateIssue(7, 70, 9, "reconcile"),
        LocateIssues(7, 70, 4),
    ]


def test_the_time_of_the_last_read_change_is_kept(scene):
    look(scene)
    with transaction(scene.database) as connection:
        until = reconciliation.load_read_until(connection, scene.id)
    assert until <= datetime.now(UTC) - missed_changes.OVERLAP + timedelta(seconds=1)
