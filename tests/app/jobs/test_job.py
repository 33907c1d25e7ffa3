"""Jobs travel through the database as JSON and come back as they were."""

import json

import pytest

from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import (
    KINDS,
    EvaluateIssue,
    ForgetCheckout,
    LocateIssues,
    ProposePatches,
    PublishVerdict,
    PurgeData,
    Reconcile,
    RecordEvent,
    Redeliver,
    RefreshConfig,
    RunCommand,
    TidyCheckouts,
    VerifyGroup,
    parse_job,
)
from app.jobs.learning_jobs import ChangeModel, RefitCalibrators, TrainModel, UnloadAdapters
from app.jobs.onboarding_jobs import OfferOnboarding, OpenOnboarding
from app.jobs.outcome_jobs import (
    CheckClaims,
    HearReview,
    MeasureSurvival,
    PollReactions,
    RecordOpinion,
    ResolvePermission,
)
from app.jobs.suite_jobs import PrepareTests, RunTests, WriteTests

EXAMPLES = [
    (RecordEvent(7, "guid"), "record_event:guid"),
    (LocateIssues(7, 70, 12), "locate_issues:70:12"),
    (EvaluateIssue(7, 70, 3, "pull_request"), "evaluate_issue:70:3"),
    (EvaluateIssue(7, 70, 3, "command", 900), "evaluate_issue:70:3"),
    (EvaluateIssue(7, 70, 3, "command", 900, propose=True), "evaluate_issue:70:3"),
    (ProposePatches(7, 70, 3, 5), "propose_patches:5"),
    (VerifyGroup(7, 70, 3, 5), "verify_group:5"),
    (PrepareTests(7, 70, 3, 5), "prepare_tests:5"),
    (WriteTests(7, 70, 3, 5), "write_tests:5"),
    (RunTests(7, 70, 3, 5), "run_tests:5"),
    (PublishVerdict(7, 70, 3, 5), "publish_verdict:70:3"),
    (RunCommand(7, 70, 3, "900", "guid"), "run_command:900"),
    (RefreshConfig(7, 70), "refresh_config:70"),
    (ResolvePermission(7, 70, "mona"), "resolve_permission:70:mona"),
    (PollReactions(7, 70, 3), "poll_reactions:70:3"),
    (
        RecordOpinion(7, 70, 3, "f" * 32, "#12", True, "", 5, "mona", "2026-11-23T09:00:00+00:00"),
        f"record_opinion:{'f' * 32}",
    ),
    (MeasureSurvival(7, 70, 12, 30), "measure_survival:70:12:30"),
    (CheckClaims(7, 70, 12), "check_claims:70:12:0"),
    (HearReview(7, 70, "guid"), "hear_review:70:guid"),
    (Reconcile(7, 70), "reconcile:70"),
    (PurgeData(7, 70), "purge_data:7:70"),
    (PurgeData(7, None), "purge_data:7:all"),
    (ForgetCheckout(7, 70), "forget_checkout:70"),
    (TidyCheckouts(0), "tidy_checkouts"),
    (Redeliver(0), "redeliver"),
    (RefitCalibrators(0), "refit_calibrators"),
    (UnloadAdapters(0), "unload_adapters"),
    (TrainModel(0), "train_model"),
    (TrainModel(0, asked=True), "train_model"),
    (OpenDraft(7, 70, 4), "open_draft:70:4"),
    (TellDraft(7, 70, 4), "tell_draft:70:4"),
    (OfferOnboarding(7, 70), "offer_onboarding:70"),
    (OpenOnboarding(7, 70), "open_onboarding:70"),
    (ChangeModel(0, "1f", "ops", "champion", "r4p-1", ""), "change_model"),
]


@pytest.mark.parametrize(("job", "key"), EXAMPLES, ids=lambda value: getattr(value, "kind", ""))
def test_a_job_survives_json_and_names_its_work(job, key):
    assert parse_job(job.kind, json.loads(json.dumps(job.to_payload()))) == job
    assert job.key == key


def test_every_kind_has_an_example():
    assert {type(job) for job, _ in EXAMPLES} == set(KINDS.values())


def test_an_unknown_kind_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown job kind 'dance'; the kinds are record_event"):
        parse_job("dance", {})


def test_a_payload_with_other_fields_is_refused():
    with pytest.raises(
        ValueError, match=r"refresh_config: the fields are \['installation'\], expected"
    ):
        parse_job("refresh_config", {"installation": 7})
