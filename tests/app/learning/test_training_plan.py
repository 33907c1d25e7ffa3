"""When a model is trained, and why not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.learning.training_plan import (
    DatasetIssue,
    LabelCounts,
    LauncherKind,
    Training,
    TrainingStage,
    TrainingState,
    count_labels,
    count_new_issues,
    explain_skip,
    is_due,
)

NOW = datetime(2026, 11, 22, 5, tzinfo=UTC)
DAY = timedelta(days=1)
ENOUGH = LabelCounts(issues=60, correct=80, incorrect=160)


def training(state, created_at=NOW):
    folder = Path("/trainings/000007")
    stage, launcher = TrainingStage.RUN, LauncherKind.SLURM
    return Training(7, state, stage, "", "cpu-smoke", folder, launcher, created_at=created_at)


def test_the_first_training_is_due():
    assert is_due(None, NOW, DAY)


def test_an_abandoned_training_is_due_at_once():
    assert is_due(training(TrainingState.RUNNING), NOW, DAY)


@pytest.mark.parametrize(
    "state", [one for one in TrainingState if one is not TrainingState.RUNNING]
)
@pytest.mark.parametrize(("hours", "due"), [(23.9, False), (24, True), (1_000, True)])
def test_a_training_is_due_a_day_after_the_last_one(state, hours, due):
    assert is_due(training(state, NOW - timedelta(hours=hours)), NOW, DAY) is due


def test_a_training_without_a_start_time_is_due():
    assert is_due(training(TrainingState.FAILED, None), NOW, DAY)


@pytest.mark.parametrize("nothing", [LabelCounts(), LabelCounts(issues=9)])
def test_without_a_label_nothing_is_trained_even_if_somebody_asks(nothing):
    assert "no patch has a label" in explain_skip(nothing, 0, 0)


@pytest.mark.parametrize(
    ("one_sided", "reason"),
    [
        (LabelCounts(issues=1, correct=1), r"every labelled patch (1) is correct"),
        (LabelCounts(issues=40, incorrect=90), r"every labelled patch (90) is incorrect"),
    ],
)
def test_labels_of_one_kind_teach_nothing(one_sided, reason):
    assert reason in explain_skip(one_sided, 40, 0)


@pytest.mark.parametrize(
    ("new", "least", "refused"),
    [
        (60, 60, None),
        (39, 40, "39 issues with labels are new, but R4P_TRAIN_NEW_ISSUES is 40"),
        (0, 40, "0 issues with labels are new, but R4P_TRAIN_NEW_ISSUES is 40"),
        (0, 0, None),
    ],
)
def test_the_clock_waits_for_enough_that_is_new(new, least, refused):
    assert explain_skip(ENOUGH, new, least) == refused


@pytest.mark.parametrize(
    ("new", "least", "refused"), [(0, 0, True), (1, 0, False), (39, 40, True), (40, 40, False)]
)
def test_a_failed_training_is_repeated_only_on_new_issues(new, least, refused):
    why = explain_skip(
        ENOUGH, new, least, failed=replace(training(TrainingState.FAILED), why="loss is NaN")
    )
    assert why == (
        f"training 7 failed with the same plan and settings, and only {new} issues with labels are new: "
        "change the plan or the settings, or run r4p train start. The error was: loss is NaN"
        if refused
        else None
    )


def build_issues(*numbers, source="outcomes", split="train"):
    return {DatasetIssue(f"octo/repo#{number}", source, split) for number in numbers}


@pytest.mark.parametrize(
    ("before", "issues_before", "new"),
    [
        (build_issues(), 0, 4),
        (build_issues(1, 2), 2, 2),
        (build_issues(*range(100, 600)), 500, 4),
        (build_issues(1, 2, source="benchmark", split="test"), 2, 2),
        (build_issues(), 3, 1),
        (build_issues(), 500, 0),
    ],
    ids=["first", "some", "purged since", "told apart by key", "gone", "gone, and more"],
)
def test_new_is_what_was_not_learnt_from_before(before, issues_before, new):
    assert count_new_issues(build_issues(1, 2, 3, 4), before, issues_before) == new


@pytest.mark.parametrize(("test", "refused"), [(29, True), (30, False)])
def test_the_clock_waits_for_issues_to_measure_on(test, refused):
    why = explain_skip(LabelCounts(60, 80, 160, test), 60, 50, 30)
    assert bool(why) is refused
    assert not refused or why.startswith(
        "the largest test set of one source has 29 issues, but the gate needs 30"
    )


def test_labels_are_counted_as_the_manifest_has_them():
    splits = {
        "train": {"issues": 30, "groups": 10, "unknown": 7, "positives": {"0": 2, "1": 5, "3": 3}},
        "test": {"issues": 4, "groups": 9, "unknown": 0, "positives": {"1": 9}},
    }
    assert count_labels({"splits": splits}, build_issues()) == LabelCounts(34, 14, 40 - 7 - 14, 0)


def test_sources_and_splits_are_measured_on_apart():
    splits = {"train": {"issues": 9, "groups": 9, "unknown": 0, "positives": {"1": 9}}}
    measured = (
        build_issues(*range(50))
        | build_issues(*range(50, 90), split="validation")
        | build_issues(*range(90, 110), split="test")
        | build_issues(*range(110, 131), split="test", source="benchmark")
        | build_issues(*range(140, 160), split="repositories")
    )
    assert count_labels({"splits": splits}, measured).test == 21


def test_a_training_knows_its_folders():
    one = training(TrainingState.RUNNING)
    assert (one.dataset, one.run) == (one.folder / "dataset", one.folder / "run")
