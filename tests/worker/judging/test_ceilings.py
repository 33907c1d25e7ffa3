"""One repository's work ends at the operator's ceilings, and nothing of it is lost."""

import pytest
from sqlalchemy import select, text

from app.db.session import transaction
from app.db.store.issues import approvals
from app.db.store.queue import installation_controls
from app.db.tables.schema import candidates, evaluation_candidates, evaluations, groups
from app.events.event import Actor
from app.policy.ceilings import DailyUsage
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, RESULTS
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin(*RESULTS, "h * w")
    return scene


def look(scene, *, trigger="pull_request", asked_in=None, **ceilings):
    handler = scene.collecting(**ceilings)
    carry_out(scene.database, handler, scene.want_evaluation(trigger, asked_in))


def read(scene, column):
    with transaction(scene.database) as connection:
        return list(connection.scalars(select(column).order_by(column.table.c.id)))


def write(scene, statement):
    with transaction(scene.database) as connection:
        connection.execute(text(statement))


def test_rivals_beyond_the_ceiling_are_left_out_with_the_reason(scene):
    look(scene, max_rivals=2)
    *_, newest = sorted(scene.pulls)
    reason = "the bot compares at most 2 pull requests of an issue"
    assert read(scene, evaluations.c.left_out) == [[{"number": newest, "reason": reason}]]


@pytest.mark.parametrize("trigger", ["pull_request", "command"])
def test_strangers_take_no_place_of_an_approved_pull_request(scene, trigger):
    config = CONFIG + "judge_from: approved\nmin_candidates: 1\n"
    scene.repo.commit({".github/r4p.yml": config})
    *strangers, approved = sorted(scene.pulls)
    with transaction(scene.database) as connection:
        approvals.approve(connection, scene.id, [approved], Actor(9, "maintainer", is_bot=False))
    look(scene, trigger=trigger, max_rivals=1)
    with transaction(scene.database) as connection:
        judged = list(
            connection.scalars(select(candidates.c.pull_number).join(evaluation_candidates))
        )
    (left_out,) = read(scene, evaluations.c.left_out)
    assert judged == [approved]
    assert [pull["number"] for pull in left_out] == strangers


def test_votes_are_clipped(scene):
    look(scene, max_votes=1)
    assert read(scene, evaluations.c.votes) == [1]


def test_a_used_up_day_postpones_the_evaluation_and_says_why(scene):
    look(scene, max_evaluations_per_repository_day=1)
    scene.repo.push(scene.pulls[0], files={"new.py": "1\n"})
    with pytest.raises(Postponed) as postponed:
        look(scene, max_evaluations_per_repository_day=1)
    assert 0 < postponed.value.after_seconds <= 86_405
    assert read(scene, evaluations.c.state) == ["collected"]
    (why,) = read(scene, groups.c.waiting)
    assert "daily budget of 1 evaluations for this repository is used up" in why


def test_yesterdays_evaluations_do_not_count(scene):
    look(scene, max_evaluations_per_repository_day=1)
    write(scene, "update evaluations set created_at = now() - interval '1 day'")
    scene.repo.push(scene.pulls[0], files={"new.py": "1\n"})
    look(scene, max_evaluations_per_repository_day=1)
    assert read(scene, evaluations.c.state) == ["superseded", "collected"]


def test_a_repeat_goes_on_although_the_day_is_used_up(scene):
    for _ in range(2):
        look(scene, max_evaluations_per_repository_day=1)
    assert read(scene, evaluations.c.state) == ["collected"]
    assert [job.kind for job in waiting(scene.database)] == ["verify_group"]


def test_a_command_hears_once_that_the_day_is_used_up(scene):
    look(scene, max_tokens_per_repository_day=100)
    write(
        scene,
        """update evaluations set state = 'published',
        verdict = '{"schema": "r4p.verdict/1", "patches": [], "tokens": {"prompt": 90, "cached": 20, "completion": 40}}'""",
    )
    comment = scene.repo.comment(scene.issue, "/r4p verify", "maintainer")
    for _ in range(2):
        with pytest.raises(Postponed):
            look(scene, trigger="command", asked_in=str(comment), max_tokens_per_repository_day=100)
        write(scene, "delete from jobs where state = 'running'")
    (reply,) = [c for c in scene.repo.comments(scene.issue) if c.author == scene.app.bot_login]
    assert "Not judged: The operator's daily budget of 100 tokens" in reply.body


def test_pushes_leave_evaluations_to_a_maintainers_command(scene):
    ceiling = {"max_evaluations_per_repository_day": 5}
    for turn in range(4):
        scene.repo.push(scene.pulls[0], files={"new.py": f"{turn}\n"})
        look(scene, **ceiling)
    scene.repo.push(scene.pulls[0], files={"new.py": "4\n"})
    with pytest.raises(Postponed):
        look(scene, **ceiling)
    write(scene, "delete from jobs where state = 'running'")
    look(scene, trigger="command", asked_in=900, **ceiling)
    assert read(scene, evaluations.c.trigger) == ["pull_request"] * 4 + ["command"]


def test_a_moved_verdict_costs_no_tokens_again(scene):
    look(scene)
    scene.repo.push(scene.pulls[0], files={"new.py": "1\n"})
    look(scene)
    write(
        scene,
        """update evaluations set
        verdict = '{"tokens": {"prompt": 90, "cached": 20, "completion": 40}}',
        moved_from = case state when 'collected' then 1 end""",
    )
    with transaction(scene.database) as connection:
        usage = installation_controls.read_daily_usage(connection, scene.id)
    assert usage == DailyUsage(2, 2, 110, 110)


def test_an_installation_may_have_more_than_the_operators_ceiling(scene):
    write(
        scene,
        f"""insert into installation_controls (installation_id, limits) values
        ({scene.installation}, '{{"max_rivals": 3}}')""",
    )
    look(scene, max_rivals=1)
    assert read(scene, evaluations.c.left_out) == [[]]


def test_usage_counts_only_the_repository_and_its_installation(scene):
    look(scene)
    own, first = scene.id, scene.installation
    scene.begin(*RESULTS)
    look(scene)
    with transaction(scene.database) as connection:
        assert scene.installation != first
        assert installation_controls.read_daily_usage(connection, own) == DailyUsage(1, 1, 0, 0)
