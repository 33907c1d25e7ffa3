"""Strangers get few answers, and none where the conversation takes none."""

import pytest
from sqlalchemy import select, text

from app.db.session import transaction
from app.db.store.queue import command_answers
from app.db.store.queue.github_state import PostgresLimiter
from app.db.tables.schema import command_answers as answer_table
from app.db.tables.schema import ignored_deliveries
from app.github.errors import WritePaceExceeded
from app.github.http.rate_limiter import WriteLimits
from app.policy.answer_policy import SilenceReason
from app.settings import CeilingSettings
from tests.builders.job_attempts import carry_out, waiting
from worker.commands.issue_commands import IssueCommands
from worker.commands.run_command import RunCommandHandler

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin("w * h")
    scene.store_evaluation()
    return scene


@pytest.fixture
def obey(scene):
    """`obey(line, author)`: somebody comments, and the bot obeys."""
    handler = RunCommandHandler(scene.github, IssueCommands(scene.github), None, CeilingSettings())

    def run(line, author="stranger", act=scene.deliver_command):
        job = act(line, author)
        carry_out(scene.database, handler, job)
        return job

    run.handler = handler
    return run


def count_replies(scene, number=None):
    comments = scene.repo.comments(number or scene.issue)
    return len([comment for comment in comments if comment.author == scene.app.bot_login])


def count_silences(scene):
    with transaction(scene.database) as connection:
        return dict(list(map(tuple, connection.execute(select(ignored_deliveries)))))


def let_pass(scene, span):
    with transaction(scene.database) as connection:
        connection.execute(
            answer_table.update().values(
                answered_at=answer_table.c.answered_at - text(f"interval '{span}'")
            )
        )


def test_a_stranger_gets_three_answers_an_hour_each_of_one_write(scene, obey):
    before = scene.standin.mark()
    for line in ("/r4p help", "/r4p status", "/r4p verfy", "/r4p help", "/r4p explain"):
        obey(line)
    assert count_replies(scene) == 3
    assert scene.read_github()[2] == []
    calls = scene.standin.calls(before).operations
    assert sum(count for name, count in calls.items() if "permission" in name) == 4
    assert count_silences(scene) == {SilenceReason.CAPPED.value: 2}
    let_pass(scene, "61 minutes")
    obey("/r4p help")
    assert count_replies(scene) == 4


def test_reviews_count_like_comments_and_each_person_alone(scene, obey):
    (pull,) = scene.pulls
    for _ in range(2):
        obey("/r4p help")
        obey("/r4p help", act=scene.deliver_review)
    assert (count_replies(scene), count_replies(scene, pull)) == (2, 1)
    obey("/r4p help", "somebody-else")
    assert count_replies(scene) == 3


@pytest.mark.parametrize("role", ["triage", "write"])
def test_people_with_triage_permission_get_every_answer(scene, obey, role):
    scene.standin.grant(scene.repo, "helper", role)
    for _ in range(5):
        obey("/r4p help", "helper")
    assert count_replies(scene) == 5
    assert scene.read_github()[2] == ["+1"] * 5 + ["eyes"] * 5


def test_a_refusal_is_told_once_per_person_and_issue(scene, obey):
    obey("/r4p verify")
    obey("/r4p verify\n/r4p agree")
    let_pass(scene, "2 hours")
    obey("/r4p verify")
    assert count_replies(scene) == 1
    assert scene.read_github()[2] == []
    assert [job.kind for job in waiting(scene.database)] == []
    assert count_silences(scene) == {SilenceReason.ALREADY_REFUSED.value: 2}
    let_pass(scene, "31 days")
    with transaction(scene.database) as connection:
        command_answers.prune(connection)
        assert connection.execute(select(answer_table)).all() == []


def test_a_conversation_locked_before_the_answer_ends_quietly(scene, obey):
    job = scene.deliver_command("/r4p verify\n/r4p status")
    scene.repo.lock(scene.issue)
    carry_out(scene.database, obey.handler, job)
    assert count_replies(scene) == 0
    assert [job.kind for job in waiting(scene.database)] == ["evaluate_issue"]


def test_strangers_who_use_up_the_replies_do_not_keep_a_maintainer_waiting(scene, obey):
    scene.use_up_replies()
    with pytest.raises(WritePaceExceeded):
        obey("/r4p help")
    obey("/r4p status", "maintainer")
    assert count_replies(scene) == 1


def test_a_postponed_answer_comes_although_a_later_comment_got_none(scene, obey):
    for _ in range(2):
        obey("/r4p help")
    scene.use_up_replies()
    postponed = scene.deliver_command("/r4p help", "stranger")
    with pytest.raises(WritePaceExceeded):
        carry_out(scene.database, obey.handler, postponed)
    obey("/r4p help")
    assert count_silences(scene) == {SilenceReason.CAPPED.value: 1}
    PostgresLimiter(scene.database).change(scene.installation, lambda _: (WriteLimits(), None))
    with transaction(scene.database) as connection:
        connection.execute(text("delete from jobs where state = 'running'"))
    carry_out(scene.database, obey.handler, postponed)
    assert count_replies(scene) == 3
