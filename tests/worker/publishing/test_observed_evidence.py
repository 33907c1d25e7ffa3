"""A verdict is published with what tests and CI showed, waits for tests a bounded time, and is edited once."""

import pytest

from app.db.session import transaction
from app.db.store.evidence import group_tests
from app.db.store.evidence.group_tests import SuiteOutcome, SuiteRequest
from app.db.store.issues import evaluations
from app.jobs.job import PublishVerdict
from model.domain import CiState, ObservedEvidence, PatchId, RegressionResult, Verdict
from model.verdict_json import read_patches
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import RESULTS, verifying
from tests.github.actions.installs import DEFAULT_PERMISSIONS
from worker.publishing.publish_verdict import PublishVerdictHandler

pytestmark = pytest.mark.services

REQUEST = SuiteRequest("pytest", "py311", 60, "main", "b" * 40)


@pytest.fixture
def publish(scene):
    """`publish(job, wait)`: publish a verdict, which may wait so many seconds for its tests."""

    def run(job, wait=0.0):
        handler = PublishVerdictHandler(scene.github, 0.0, False, wait)
        carry_out(scene.database, handler, job)
        with transaction(scene.database) as connection:
            return evaluations.load(connection, job.evaluation)

    return run


@pytest.fixture
def publication(scene, database):
    """A publication group of two rivals, of which the first is correct; the job that publishes it."""
    scene.begin(*RESULTS)
    verify = scene.store_evaluation()
    carry_out(database, verifying(), verify)
    return PublishVerdict(**verify.to_payload())


def want_tests(scene, job):
    with transaction(scene.database) as connection:
        group_tests.request(connection, job.evaluation, REQUEST)


def finish_tests(scene, job, outcome):
    want_tests(scene, job)
    with transaction(scene.database) as connection:
        group_tests.finish(connection, job.evaluation, outcome)


def read_verdicts(evaluation):
    return {patch.id: patch for patch in read_patches(evaluation.verdict)}


def name(scene, number):
    return PatchId(f"#{scene.pulls[number]}")


def test_broken_tests_take_the_claim_back_and_the_database_says_so(scene, publication, publish):
    first = name(scene, 0)
    broken = ObservedEvidence(RegressionResult(812, 3, ("t::a", "t::b", "t::c")))
    finish_tests(scene, publication, SuiteOutcome({first: broken}, expected=812))
    verdicts = read_verdicts(publish(publication))
    assert (verdicts[first].verdict, verdicts[first].evidence) == (Verdict.UNSURE, broken)
    other = verdicts[name(scene, 1)].evidence
    assert other == ObservedEvidence(unknown="its patch could not be read")
    with transaction(scene.database) as connection:
        words = "select verdict from evaluation_candidates order by position"
        assert list(connection.exec_driver_sql(words).scalars()) == ["unsure", "incorrect"]
    (run,) = scene.repo.check_runs(scene.pulls[0])
    assert run.conclusion == "neutral"


def test_tests_that_pass_claim_nothing_new(scene, publication, publish):
    kept = ObservedEvidence(RegressionResult(812, 0))
    names = (name(scene, 0), name(scene, 1))
    finish_tests(scene, publication, SuiteOutcome(dict.fromkeys(names, kept), expected=812))
    words = [patch.verdict for patch in read_verdicts(publish(publication)).values()]
    assert words == [Verdict.CORRECT, Verdict.INCORRECT]


def test_a_verdict_waits_for_its_tests_and_is_published_when_they_end(scene, publication, publish):
    want_tests(scene, publication)
    assert publish(publication, wait=600).state == "verified"
    assert waiting(scene.database) == [publication]
    assert scene.read_github()[0] == []
    finish_tests(scene, publication, SuiteOutcome(failure="none of 3 tests passes on the base"))
    assert publish(publication, wait=600).state == "published"
    assert scene.read_github()[0] == ["verdict"]


def test_after_the_wait_it_is_published_and_edited_once_when_the_tests_end(
    scene, publication, publish
):
    want_tests(scene, publication)
    first = name(scene, 0)
    before = read_verdicts(publish(publication, wait=0))
    assert before[first].verdict is Verdict.CORRECT
    assert before[first].evidence == ObservedEvidence(unknown="its tests have not ended yet")
    broken = ObservedEvidence(RegressionResult(2, 1, ("t::a",)))
    finish_tests(scene, publication, SuiteOutcome({first: broken}, expected=2))
    after = read_verdicts(publish(publication, wait=0))
    assert after[first].verdict is Verdict.UNSURE
    assert scene.read_github()[0] == ["verdict"]


def test_no_evidence_is_one_line_for_each_patch_and_no_score(scene, publication, publish):
    finish_tests(scene, publication, SuiteOutcome(failure="the operator of this bot runs no tests"))
    found = {patch.evidence for patch in read_verdicts(publish(publication)).values()}
    assert found == {ObservedEvidence(unknown="the operator of this bot runs no tests")}


def test_stored_results_that_nobody_can_read_are_no_evidence(scene, publication, publish):
    finish_tests(scene, publication, SuiteOutcome())
    with transaction(scene.database) as connection:
        connection.exec_driver_sql('update group_tests set results = \'{"#1": {"ci": 3}}\'')
    found = {patch.evidence.unknown for patch in read_verdicts(publish(publication)).values()}
    assert found == {"its stored test results cannot be read"}


def test_the_ci_of_the_judged_head_counts_without_the_bots_own_check(scene, publication, publish):
    first, second = (scene.repo.head(pull) for pull in scene.pulls)
    scene.repo.report_check(first, "test", "failure")
    scene.repo.report_check(first, "lint", "success")
    scene.repo.report_check(second, "test", "cancelled")
    scene.repo.report_check(second, "build", "timed_out")
    verdicts = read_verdicts(publish(publication))
    red, unknown = (verdicts[name(scene, number)] for number in (0, 1))
    assert (red.verdict, red.evidence.ci.names) == (Verdict.UNSURE, ("test",))
    assert (red.evidence.ci.state, red.evidence.ci.checks) == (CiState.FAILED, 2)
    assert (unknown.verdict, unknown.evidence.ci.state) == (Verdict.INCORRECT, CiState.NOT_RUN)
    again = read_verdicts(publish(publication))
    assert again == verdicts


def test_a_check_that_fails_on_the_default_branch_too_takes_nothing_back(
    scene, publication, publish
):
    scene.repo.report_check(scene.repo.commit({"README.md": "areas"}), "test", "failure")
    scene.repo.report_check(scene.repo.head(scene.pulls[0]), "test", "failure")
    scene.repo.report_status(scene.repo.head(scene.pulls[0]), "ci/legacy", "success")
    patch = read_verdicts(publish(publication))[name(scene, 0)]
    assert (patch.verdict, patch.evidence.ci.state) == (Verdict.CORRECT, CiState.PASSED)


def test_without_the_permission_for_statuses_check_runs_still_count(scene, publication, publish):
    granted = {name: level for name, level in DEFAULT_PERMISSIONS.items() if name != "statuses"}
    scene.standin.accept_permissions(scene.installation, granted)
    head = scene.repo.head(scene.pulls[0])
    scene.repo.report_status(head, "ci/legacy", "failure")
    scene.repo.report_check(head, "test", "success")
    ci = read_verdicts(publish(publication))[name(scene, 0)].evidence.ci
    assert (ci.state, ci.checks) == (CiState.PASSED, 1)


def test_a_claim_comes_back_when_ci_passes_later(scene, publication, publish):
    head = scene.repo.head(scene.pulls[0])
    scene.repo.report_status(head, "ci/legacy", "failure")
    first = name(scene, 0)
    assert read_verdicts(publish(publication))[first].verdict is Verdict.UNSURE
    scene.repo.report_status(head, "ci/legacy", "success")
    assert read_verdicts(publish(publication))[first].verdict is Verdict.CORRECT
