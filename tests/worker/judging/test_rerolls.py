"""A group draws fresh votes only by a changed patch or member, and a second change within a day has to wait."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.tables.schema import evaluations, jobs, votes
from app.jobs.job import PublishVerdict, VerifyGroup
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, RESULTS, area, verifying
from worker.judging.submission import WAITS
from worker.publishing.publish_verdict import PublishVerdictHandler
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services

COMMENTED = {
    "area.py": "def area(w, h):  # nicer\n\n    # please look again\n    return w * h   \n"
}


def judge(scene, **options):
    """Collect the group, judge and publish it as far as its jobs go; return the kinds of the jobs that ran."""
    scene.collect(**options)
    return finish(scene)


def finish(scene):
    """Run the jobs that judge and publish; return their kinds."""
    ran = []
    for kind, build in ((VerifyGroup, verifying), (PublishVerdict, lambda: publishing(scene))):
        for job in [job for job in waiting(scene.database) if isinstance(job, kind)]:
            carry_out(scene.database, build(), job)
            ran.append(job.kind)
    return ran


def publishing(scene):
    return PublishVerdictHandler(scene.github, 0.0, has_writer=False)


def list_votes(scene):
    """The evaluation of each vote, oldest first."""
    with transaction(scene.database) as connection:
        return list(
            connection.scalars(
                select(votes.c.evaluation_id).order_by(votes.c.evaluation_id, votes.c.number)
            )
        )


def list_evaluations(scene):
    with transaction(scene.database) as connection:
        return connection.execute(select(evaluations).order_by(evaluations.c.id)).all()


def read_waiting(scene):
    with transaction(scene.database) as connection:
        return groups.find_group(connection, scene.id, scene.issue).waiting


def read_comment(scene):
    (comment,) = [c for c in scene.repo.comments(scene.issue) if c.author == scene.app.bot_login]
    return comment.body


def test_a_push_of_blanks_and_comments_moves_the_verdict_and_draws_no_vote(scene):
    scene.begin(*RESULTS)
    judge(scene)
    drawn = list_votes(scene)
    assert len(drawn) == 2
    first = scene.pulls[0]
    for turn in range(3):
        head = scene.repo.push(first, files={"area.py": COMMENTED["area.py"] + f"# {turn}\n"})
        assert judge(scene) == ["verify_group", "publish_verdict"]
    assert list_votes(scene) == drawn
    rows = list_evaluations(scene)
    assert [row.moved_from for row in rows] == [None, *[rows[0].id] * 3]
    assert rows[-1].verdict["patches"][0]["head_sha"] == head
    assert [run.conclusion for run in scene.repo.check_runs(first)] == ["success"]
    body = read_comment(scene)
    assert (f"`{head[:7]}`" in body, "verdict moved to them" in body) == (True, True)
    assert "This is version" not in body


def test_a_command_adds_votes_to_those_of_an_equal_patch(scene):
    scene.begin(*RESULTS)
    judge(scene)
    drawn = list_votes(scene)
    scene.repo.push(scene.pulls[0], files=COMMENTED)
    judge(scene)
    judge(scene, trigger="command", asked_in=900)
    cast = list_votes(scene)
    assert (cast[:2], len(cast)) == (drawn, 4)
    patch = list_evaluations(scene)[-1].verdict["patches"][0]
    assert patch["votes"] == {"correct": 4, "incorrect": 0, "none": 0}


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(area("w * h + 0"), id="code"),
        pytest.param({"area.py": "def area(w, h):\n        return w * h\n"}, id="indentation"),
        pytest.param({"area.py": "def area(w, h):\n    return w * h or ' '\n"}, id="a string"),
    ],
)
def test_a_changed_patch_is_judged_anew_and_shows_its_version(scene, files):
    scene.begin(*RESULTS)
    judge(scene)
    scene.repo.push(scene.pulls[0], files=files)
    judge(scene)
    assert len(list_votes(scene)) == 4
    assert f"This is version 2 of #{scene.pulls[0]} that the bot judged." in read_comment(scene)


def test_to_return_to_an_old_version_brings_its_verdict_back(scene):
    scene.begin(*RESULTS)
    for result in (None, "w + h + 1", "w * h"):
        if result:
            scene.repo.push(scene.pulls[0], files=area(result))
        judge(scene)
    assert len(list_votes(scene)) == 4
    rows = list_evaluations(scene)
    assert [row.moved_from for row in rows] == [None, None, rows[0].id]


SLOW = CONFIG.replace("quiet_minutes: 0", "quiet_minutes: 30")


def toggle_draft(scene):
    scene.repo.draft(scene.pulls[2])


def close(scene):
    scene.repo.close(scene.pulls[2], user="contributor")


def unlink(scene):
    scene.repo.edit_pr(scene.pulls[2], body="Nothing")


def open_junk(scene):
    scene.repo.open_pr("Junk", f"Fixes #{scene.issue}", files=area("7"))


def push_code(scene):
    scene.repo.push(scene.pulls[0], files=area("w * h + 0"))


def push_comments(scene):
    scene.repo.push(scene.pulls[0], files=COMMENTED)


@pytest.mark.parametrize(
    "change", [toggle_draft, close, unlink, open_junk, push_code, push_comments]
)
def test_a_second_change_within_a_day_waits_and_a_command_does_not(scene, change):
    scene.begin(*RESULTS, "h * w", config=SLOW)
    assert judge(scene) == ["verify_group", "publish_verdict"]
    drawn = list_votes(scene)
    change(scene)
    assert judge(scene) == []
    assert read_waiting(scene) == WAITS
    with transaction(scene.database) as connection:
        (again,) = connection.scalars(
            select(jobs.c.run_after).where(jobs.c.kind == "evaluate_issue", jobs.c.state == "ready")
        )
    assert again > datetime.now(UTC) + timedelta(minutes=25)
    assert list_votes(scene) == drawn
    assert judge(scene, trigger="command", asked_in=900) == ["verify_group", "publish_verdict"]
    assert len(list_votes(scene)) == 4


def test_pushes_before_the_verdict_wait_too(scene):
    scene.begin(*RESULTS, config=SLOW)
    for turn in range(3):
        scene.repo.push(scene.pulls[0], files=area(f"w * h + {turn}"))
        scene.collect()
    assert [row.state for row in list_evaluations(scene)] == ["collected"]


def test_a_newcomer_is_judged_while_others_wait(scene):
    scene.begin(*RESULTS, config=SLOW)
    judge(scene)
    push_code(scene)
    assert judge(scene) == []
    scene.repo.open_pr("New", f"Fixes #{scene.issue}", "newcomer", files=area("h * w"))
    assert judge(scene) == ["verify_group", "publish_verdict"]
    causes = [set(row.caused_by) for row in list_evaluations(scene)]
    first, second = (f"#{pull}" for pull in scene.pulls)
    assert causes[0] == {first, second, "contributor", "#0"}
    assert {first, "contributor", "newcomer"} < causes[1]


def test_no_author_causes_more_than_a_share_of_the_writes(scene):
    scene.begin(*RESULTS, *["h * w"] * 17)
    for turn in range(6):
        scene.repo.push(scene.pulls[0], files=area(f"w * h + {turn}"))
        scene.collect()
    assert len(list_evaluations(scene)) == 4
    assert read_waiting(scene) == WAITS


def test_a_stranger_inherits_no_command(scene):
    approved = CONFIG + "judge_from: approved\n"
    scene.begin(*RESULTS, config=approved)
    scene.collect(trigger="command", asked_in=900)
    scene.repo.push(scene.pulls[0], files=area("w * h + 1"))
    scene.repo.open_pr("Mine", f"Fixes #{scene.issue}", "stranger", files=area("h"))
    scene.collect(trigger="moved_head")
    (evaluation,) = list_evaluations(scene)
    assert (evaluation.state, evaluation.trigger) == ("collected", "command")
    assert [job.kind for job in waiting(scene.database)] == ["verify_group"]
    assert finish(scene) == ["verify_group", "publish_verdict"]
    assert [job.kind for job in waiting(scene.database)] == ["evaluate_issue"]
    assert judge(scene, trigger="moved_head") == []
    assert "not approved" in read_waiting(scene)
    assert len(list_evaluations(scene)) == 1


def test_an_edit_of_the_issue_waits_for_a_commanded_verdict(scene):
    scene.begin(*RESULTS)
    scene.collect(trigger="command", asked_in=900)
    scene.repo.edit_issue(scene.issue, body="It divides.")
    assert judge(scene, trigger="issue") == ["verify_group", "publish_verdict"]
    assert [row.trigger for row in list_evaluations(scene)] == ["command"]
    assert [job.kind for job in waiting(scene.database)] == ["evaluate_issue"]


def test_the_comment_names_a_push_beyond_the_days_budget(scene):
    scene.begin(*RESULTS)
    judge(scene)
    push_code(scene)
    for _ in range(2):
        with pytest.raises(Postponed):
            carry_out(
                scene.database,
                scene.collecting(max_evaluations_per_repository_day=1),
                scene.want_evaluation(),
            )
        with transaction(scene.database) as connection:
            connection.execute(jobs.delete().where(jobs.c.kind == "evaluate_issue"))
    assert finish(scene) == ["publish_verdict"]
    body = read_comment(scene)
    note = (
        f"#{scene.pulls[0]} is left out: its new commits are not judged yet: the operator's daily"
    )
    assert (note in body, "goes on after midnight UTC" in body) == (True, True)
    assert judge(scene) == ["verify_group", "publish_verdict"]
    assert "is left out" not in read_comment(scene)
