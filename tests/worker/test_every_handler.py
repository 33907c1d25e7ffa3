"""Every use case runs twice, and again after dying at each commit, and leaves what one run leaves."""

from functools import partial

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.tables.schema import evaluations, repositories
from app.jobs.job import (
    OF_THE_APP,
    EvaluateIssue,
    ForgetCheckout,
    LocateIssues,
    PublishVerdict,
    Reconcile,
    RefreshConfig,
    TidyCheckouts,
)
from app.jobs.outcome_jobs import MeasureSurvival, PollReactions, ResolvePermission
from app.settings import CeilingSettings
from app.values.identifiers import PullNumber
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, RESULTS, area, verifying
from worker.commands.issue_commands import IssueCommands
from worker.commands.run_command import RunCommandHandler
from worker.judging.locate_issues import locate_issues
from worker.publishing.publish_verdict import PublishVerdictHandler
from worker.repositories.forget import forget_checkout, tidy_checkouts
from worker.repositories.missed_changes import MissedChanges
from worker.repositories.repository_config import refresh_config
from worker.wiring import HANDLED

pytestmark = pytest.mark.services

ELSEWHERE = {
    *("record_event", "purge_data", "offer_onboarding"),  # test_record_event.py, test_offer_…
    *("open_draft", "tell_draft", "open_onboarding"),  # test_open_draft.py, test_open_…
    "check_claims",  # test_claim_checks.py
    "hear_review",  # test_review_hints.py
    *("propose_patches", "record_opinion"),  # test_propose.py, test_page_opinion.py
    *("prepare_tests", "write_tests", "run_tests"),  # test_prepare_tests.py, tests/worker/testing
    "redeliver",
    *("refit_calibrators", "change_model"),
    "train_model",
    "unload_adapters",
}  # kinds of jobs whose own tests run them twice


def build_command_handler(scene):
    verbs, ceilings = IssueCommands(scene.github), CeilingSettings()
    return RunCommandHandler(scene.github, verbs, scene.app.slug, ceilings)


def test_collecting_makes_one_evaluation(twice, scene):
    def arrange(_database):
        scene.begin(*RESULTS)
        return scene.want_evaluation()

    left = twice(scene.collecting(), arrange, scene.read_database)
    assert left == (["collected"], 0, ["verify_group"])


def test_collecting_too_few_answers_whoever_asked_once(twice, scene):
    def arrange(_database):
        scene.begin()
        return scene.want_evaluation("command", scene.deliver_command("/r4p verify").asked_in)

    left = twice(
        scene.collecting(), arrange, lambda _: (scene.read_github(), scene.read_database())
    )
    assert left == ((["reply"], [], []), ([], 0, []))


def test_an_evaluation_is_superseded_when_the_issue_is_closed(twice, scene):
    def arrange(database):
        scene.begin(*RESULTS)
        scene.collect()
        scene.repo.close(scene.issue)
        return scene.want_evaluation("issue")

    left = twice(scene.collecting(), arrange, scene.read_database)
    assert left == (["superseded"], 0, [])


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (lambda repo, issue: None, (["collected"], 0, ["verify_group"])),
        (lambda repo, issue: repo.close(issue), (["superseded"], 0, [])),
    ],
    ids=["too few to begin by itself", "closed"],
)
def test_a_commanded_evaluation_is_superseded_only_when_the_issue_is_closed(
    twice, scene, act, left
):
    def arrange(database):
        scene.begin("w * h")
        scene.collect(trigger="command", asked_in=scene.deliver_command("/r4p verify").asked_in)
        act(scene.repo, scene.issue)
        return scene.want_evaluation()

    assert twice(scene.collecting(), arrange, scene.read_database) == left


def test_a_verdict_that_is_not_published_is_taken_back_when_the_issue_is_closed(twice, scene):
    def arrange(database):
        scene.begin(*RESULTS)
        scene.collect()
        (verify,) = waiting(database)
        carry_out(database, verifying(), verify)
        scene.repo.close(scene.issue)
        return scene.want_evaluation("issue")

    left = twice(scene.collecting(), arrange, lambda _: scene.read_database()[0])
    assert left == ["superseded"]


def test_nothing_is_published_on_a_closed_issue(twice, scene, publishing):
    def arrange(database):
        scene.begin(*RESULTS)
        verify = scene.store_evaluation()
        carry_out(database, verifying(), verify)
        scene.repo.close(scene.issue)
        return PublishVerdict(scene.installation, scene.id, scene.issue, verify.evaluation)

    def observe(database):
        with transaction(database) as connection:
            waits = groups.find_group(connection, scene.id, scene.issue).waiting
        return scene.read_github(), scene.read_database()[0], waits

    left = twice(publishing, arrange, observe)
    assert left == (([], [[], []], []), ["superseded"], "the issue is closed")


def test_a_head_that_moves_does_not_lose_what_a_person_asked_for(twice, scene):
    def arrange(database):
        scene.begin("w * h")
        scene.collect(trigger="command", asked_in=900)
        scene.repo.push(scene.pulls[0], files=area("h * w"))
        return scene.want_evaluation("moved_head")

    def observe(database):
        with transaction(database) as connection:
            query = select(evaluations.c.state, evaluations.c.trigger).order_by(evaluations.c.id)
            return [tuple(row) for row in connection.execute(query)]

    left = twice(scene.collecting(), arrange, observe)
    assert left == [("collected", "command")]


def test_two_who_ask_share_one_evaluation(twice, scene):
    def arrange(database):
        scene.begin("w * h")
        scene.collect(trigger="command", asked_in=900)
        return scene.want_evaluation("command", 901)

    left = twice(scene.collecting(), arrange, scene.read_database)
    assert left == (["collected"], 0, ["verify_group"])


@pytest.fixture
def publishing(scene):
    return PublishVerdictHandler(scene.github, 0.0, has_writer=False)


def test_verifying_stores_each_vote_once(twice, scene):
    def arrange(_database):
        scene.begin(*RESULTS)
        return scene.store_evaluation()

    left = twice(verifying(), arrange, scene.read_database)
    assert left == (["verified"], 2, ["publish_verdict"])


def test_publishing_writes_one_comment_and_a_check_each(twice, scene, publishing):
    def arrange(database):
        scene.begin(*RESULTS)
        verify = scene.store_evaluation()
        carry_out(database, verifying(), verify)
        return PublishVerdict(scene.installation, scene.id, scene.issue, verify.evaluation)

    left = twice(publishing, arrange, lambda _: (scene.read_github(), scene.read_database()[0]))
    assert left == ((["verdict"], [["success"], ["neutral"]], []), ["published"])


@pytest.mark.parametrize(
    ("line", "replies", "reactions", "jobs"),
    [
        ("/r4p verify", [], ["+1", "eyes"], ["evaluate_issue"]),
        ("/r4p group add #2", ["reply"], ["+1", "eyes"], ["evaluate_issue"]),
        ("/r4p status\n/r4p nonsense", ["reply"], ["confused", "eyes"], []),
    ],
)
def test_obeying_a_command_answers_once(twice, scene, line, replies, reactions, jobs):
    def arrange(_database):
        scene.begin("w * h")
        return scene.deliver_command(line)

    left = twice(
        build_command_handler(scene),
        arrange,
        lambda _: (scene.read_github(), scene.read_database()[2]),
    )
    assert left == ((replies, [[]], reactions), jobs)


@pytest.mark.parametrize(
    ("line", "reply", "jobs"),
    [
        ("/r4p verify", "Understood", ["evaluate_issue"]),
        ("/r4p help", "| Command |", []),
    ],
)
def test_obeying_a_review_answers_once_in_words(twice, scene, line, reply, jobs):
    def arrange(database):
        scene.begin("w * h")
        scene.store_evaluation()
        return scene.deliver_review(line)

    def observe(_database):
        bodies = [c.body for c in scene.repo.comments(scene.pulls[0])]
        return [reply in body for body in bodies], scene.read_database()[2]

    assert twice(build_command_handler(scene), arrange, observe) == ([True], jobs)


def test_reading_the_settings_again_keeps_the_last_good_ones(twice, scene):
    def arrange(_database):
        scene.begin()
        scene.repo.commit({".github/r4p.yml": "mode: loud"})
        return RefreshConfig(scene.installation, scene.id)

    def observe(database):
        with transaction(database) as connection:
            stored = groups.load_repository(connection, scene.id)
        return stored.config_text, stored.config_error

    text, error = twice(partial(refresh_config, scene.github), arrange, observe)
    assert (text, "`version` is missing" in error) == (CONFIG, True)


def test_locating_finds_the_issue_and_warns_of_broken_settings_once(twice, scene):
    def arrange(_database):
        scene.begin()
        files = area("w * h") | {".github/r4p.yml": "mode: loud"}
        scene.pulls = [scene.repo.open_pr("Fix", files=files).number]
        scene.repo.link(scene.pulls[0], scene.issue)
        return LocateIssues(scene.installation, scene.id, PullNumber(scene.pulls[0]))

    handler = partial(locate_issues, scene.github, 0.0)
    left = twice(handler, arrange, lambda _: (scene.read_github()[1], scene.read_database()[2]))
    assert left == ([["failure"]], ["evaluate_issue"])


def test_looking_for_missed_pull_requests_plans_each_once(twice, scene):
    def arrange(_database):
        scene.begin("w * h")
        scene.store_evaluation()
        scene.repo.push(scene.pulls[0], files=area("h * w"))
        scene.repo.open_pr("Another", f"Fixes #{scene.issue}", files=area("w"))
        return Reconcile(scene.installation, scene.id)

    handler = MissedChanges(scene.github, 0.0, scene.app.slug)
    left = twice(handler, arrange, lambda _: sorted(scene.read_database()[2]))
    assert left == ["evaluate_issue", "locate_issues", "locate_issues"]


def test_forgetting_a_checkout_deletes_it(twice, scene):
    def arrange(database):
        scene.begin(*RESULTS)
        scene.collect()
        with transaction(database) as connection:
            connection.execute(repositories.delete())
        assert list(scene.directory.glob("*.git"))
        return ForgetCheckout(scene.installation, scene.id)

    handler = partial(forget_checkout, scene.checkouts, scene.trees, scene.suite_trees)
    assert twice(handler, arrange, lambda _: list(scene.directory.glob("*.git"))) == []


def test_tidying_checkouts_deletes_what_is_not_known_and_keeps_the_rest(twice, scene):
    def arrange(database):
        scene.begin(*RESULTS)
        scene.collect()
        (scene.directory / "123.git").mkdir()
        return TidyCheckouts(OF_THE_APP)

    handler = partial(tidy_checkouts, scene.checkouts, scene.trees, scene.suite_trees)
    left = twice(handler, arrange, lambda _: scene.checkouts.list_fetched() == (scene.id,))
    assert left is True


def test_every_kind_of_job_is_run_every_way():
    here = {EvaluateIssue, PublishVerdict, RefreshConfig, LocateIssues, Reconcile, ForgetCheckout}
    here |= {TidyCheckouts}
    people = {ResolvePermission, PollReactions, MeasureSurvival}
    covered = {job.kind for job in here | people} | {"verify_group", "run_command"}
    assert covered | ELSEWHERE == HANDLED
