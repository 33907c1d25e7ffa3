"""A worker that was paused longer than its lease leaves the newest verdict, once, wherever it was paused."""

import random

import pytest

from app.db.session import transaction
from app.db.store.queue import installation_controls
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.jobs import Fenced
from app.github.errors import Ambiguous
from app.values.identifiers import InstallationId
from tests.builders.github.local_github import MemoryLimits, connect
from tests.builders.github.paused_publishers import STEPS, PausedPublishers
from tests.github.stand_in import StandIn

pytestmark = pytest.mark.services
TRIALS = 500


@pytest.fixture(scope="module")
def own_standin(tmp_path_factory):
    """A stand-in whose clock these tests may move."""
    with StandIn.start(tmp_path_factory.mktemp("paused")) as running:
        running.hold_webhooks()
        yield running
        assert running.violations() == []


@pytest.fixture
def publishers(own_standin, database, tmp_path):
    app = own_standin.register_app(slug=f"bot-{tmp_path.name}", webhook_url="http://127.0.0.1:9/x")
    repo = own_standin.create_repository(f"{tmp_path.name}/area", {"a": "1"})
    installation = InstallationId(own_standin.install(app, [repo]))
    limits = MemoryLimits()
    identity = {"app_id": app.app_id, "key": app.private_key, "limits": limits}
    with connect(own_standin.url, **identity) as github:
        yield PausedPublishers(database, github, repo, installation, app.bot_login)


@pytest.mark.parametrize("is_first", [True, False], ids=["creates", "edits"])
@pytest.mark.parametrize("step", STEPS)
def test_a_paused_attempt_leaves_the_newer_verdict_once(publishers, step, is_first):
    publishers.begin()
    if not is_first:
        publishers.publish().finish()
    late = publishers.publish()
    late.go_until(step)
    newer = publishers.publish()
    newer.finish()
    late.finish()
    assert newer.error is None
    assert publishers.list_visible() == [f"verdict {len(publishers.attempts)}"]
    if step in STEPS[:3]:
        assert isinstance(late.error, Fenced)


@pytest.mark.parametrize("kind", ["502_after_effect", "502"])
@pytest.mark.parametrize("is_first", [True, False], ids=["creates", "edits"])
def test_a_paused_attempt_whose_answer_is_lost_leaves_the_newer_verdict_once(
    own_standin, publishers, is_first, kind
):
    publishers.begin()
    if not is_first:
        publishers.publish().finish()
    late = publishers.publish()
    late.go_until("write")
    publishers.publish().finish()
    lose_next_answer(own_standin, publishers, kind)
    late.finish()
    assert isinstance(late.error, Ambiguous)
    assert publishers.list_visible() == [f"verdict {len(publishers.attempts)}"]


def test_a_paused_attempt_repairs_nothing_while_the_operator_pauses(publishers):
    late = publishers.begin().publish()
    late.go_until("write")
    publishers.publish().finish()
    late.go_until("confirm")
    with transaction(publishers.database) as connection:
        installation_controls.pause(connection, publishers.installation)
    late.finish()
    with transaction(publishers.database) as connection:
        installation_controls.resume(connection, publishers.installation)
    assert isinstance(late.error, InstallationPaused)
    assert sorted(publishers.list_visible()) == ["verdict 1", "verdict 2"]
    assert publishers.state() == "ambiguous"


@pytest.mark.parametrize("target", ["own", "all"])
@pytest.mark.parametrize("step", STEPS[:3])
def test_a_job_that_runs_when_the_operator_pauses_writes_nothing(publishers, step, target):
    paused = publishers.installation if target == "own" else installation_controls.ALL
    attempt = publishers.begin().publish()
    attempt.go_until(step)
    with transaction(publishers.database) as connection:
        installation_controls.pause(connection, paused)
    attempt.finish()
    with transaction(publishers.database) as connection:
        installation_controls.resume(connection, paused)
    assert isinstance(attempt.error, InstallationPaused)
    assert publishers.list_visible() == []


@pytest.mark.parametrize("step", ["write", "confirm"])
def test_a_double_check_run_shows_the_newer_verdict(publishers, step):
    publishers.begin()
    late = publishers.publish(is_check=True)
    late.go_until(step)
    publishers.publish(is_check=True).finish()
    late.finish()
    assert publishers.list_visible(is_check=True) == ["verdict 2"]


def lose_next_answer(standin, publishers, kind="502_after_effect"):
    """Break the answer to the bot's next write."""
    for method in ("POST", "PATCH"):
        standin.fault(f"{method} /repos/{publishers.repo.full_name}/*", kind, times=1)


def run_trial(standin, publishers, rng):
    """Two or three attempts, each paused anywhere, go on in any order; return what is shown and what should be.

    The answer to a write of an overtaken attempt may be lost. The last attempt goes on to its end without faults.
    """
    is_check = rng.random() < 0.2
    publishers.begin()
    if rng.random() < 0.5:
        publishers.publish(is_check=is_check).finish()
    count = len(publishers.attempts) + rng.choice([2, 2, 3])
    while len(publishers.attempts) < count:
        publishers.publish(is_check=is_check)
        for _ in range(rng.randrange(6)):
            go_on_somewhere(standin, publishers, rng, count)
    while go_on_somewhere(standin, publishers, rng, count):
        pass
    assert publishers.attempts[-1].error is None
    return publishers.list_visible(is_check=is_check), [f"verdict {count}"]


def go_on_somewhere(standin, publishers, rng, count):
    """Let one attempt take its next step; False when all are over. The attempt number `count` loses no answer."""
    alive = [attempt for attempt in publishers.attempts if not attempt.is_over]
    if not alive:
        return False
    attempt = rng.choice(alive)
    is_last = attempt in publishers.attempts[count - 1 :]
    if attempt.step == "write" and not is_last and rng.random() < 0.3:
        lose_next_answer(standin, publishers)
    attempt.go_on()
    standin.clear_faults()
    return True


@pytest.mark.proof
def test_no_order_of_paused_attempts_leaves_a_stale_or_a_second_verdict(own_standin, publishers):
    wrong = []
    for seed in range(TRIALS):
        own_standin.advance(10)
        publishers.github.limiter._store.limits.clear()
        shown, wanted = run_trial(own_standin, publishers, random.Random(seed))
        if shown != wanted:
            wrong.append((seed, shown, wanted))
    assert wrong == []
