"""When the clock's training is skipped: by what datasets hold, and by what became of trainings before."""

import shutil
from functools import partial

import pytest

from app.learning.training_plan import TrainingState
from tests.builders.job_attempts import carry_out
from tests.worker.learning import trainings
from tests.worker.learning.trainings import ASKED, JOB, MANIFEST, last, write_dataset

pytestmark = pytest.mark.services

TINY = {"splits": {"train": MANIFEST["splits"]["train"] | {"issues": 20}, "test": {"issues": 30}}}


@pytest.fixture
def handler(tmp_path, database_url):
    """`handler(faults, manifest, **settings)`, whose clock asks again at once."""
    return partial(
        trainings.handler, tmp_path / "trainings", database_url, train_every_seconds=0.001
    )


@pytest.fixture
def second(tmp_path):
    """Where the second training's dataset is."""
    return tmp_path / "trainings" / "000002" / "dataset"


@pytest.mark.parametrize(
    ("first", "state"), [(0, TrainingState.SKIPPED), (60, TrainingState.FINISHED)]
)
def test_fewer_issues_than_last_time_may_all_be_new(database, handler, second, first, state):
    carry_out(database, handler(), JOB)
    again = handler()
    write_dataset(second, TINY, first)
    carry_out(database, again, JOB)
    assert (last(database).id, last(database).state) == (2, state)


@pytest.mark.parametrize(
    "gone", [shutil.rmtree, lambda folder: (folder / "train.parquet").write_text("")]
)
@pytest.mark.parametrize(("issues", "new"), [(100, 40), (40, 0)])
def test_without_the_last_dataset_issue_numbers_are_compared(
    database, handler, second, tmp_path, issues, new, gone
):
    carry_out(database, handler(), JOB)
    again = handler()
    gone(tmp_path / "trainings" / "000001" / "dataset")
    train = MANIFEST["splits"]["train"] | {"issues": issues}
    write_dataset(second, {"splits": MANIFEST["splits"] | {"train": train}})
    carry_out(database, again, JOB)
    found = last(database)
    assert (found.id, found.state) == (2, TrainingState.SKIPPED)
    assert found.why.startswith(f"{new} issues with labels are new")


@pytest.mark.parametrize(
    ("sources", "state"),
    [(("outcomes",), TrainingState.FINISHED), (("outcomes", "benchmark"), TrainingState.SKIPPED)],
)
def test_the_clock_waits_for_a_set_that_is_large_enough_to_decide_by(
    database, handler, tmp_path, sources, state
):
    clock = handler()
    write_dataset(tmp_path / "trainings" / "000001" / "dataset", sources=sources)
    carry_out(database, clock, JOB)
    assert last(database).state is state
    assert state is TrainingState.FINISHED or last(database).why.startswith(
        "the largest test set of one source has 15 issues"
    )


def test_a_training_that_failed_is_not_repeated_until_something_has_changed(
    database, handler, tmp_path
):
    plan = tmp_path / "plan.toml"
    plan.write_text("# the first one")
    same = handler({"fail": "loss is NaN"}, train_plan=str(plan))
    carry_out(database, same, JOB)
    assert last(database).state is TrainingState.FAILED
    for _ in range(2):
        carry_out(database, same, JOB)
        assert last(database).state is TrainingState.SKIPPED
        assert last(database).why == (
            "training 1 failed with the same plan and settings, and only 0 issues with labels are new: "
            "change the plan or the settings, or run r4p train start. The error was: loss is NaN"
        )
    carry_out(database, same, ASKED)
    assert last(database).state is TrainingState.FAILED
    plan.write_text("# another one")
    carry_out(database, same, JOB)
    assert (last(database).id, last(database).state) == (5, TrainingState.FAILED)
    carry_out(database, handler(train_plan=str(plan), train_run_args="--max-steps 1"), JOB)
    assert last(database).state is TrainingState.FINISHED


def test_a_training_that_failed_is_repeated_on_enough_that_is_new(database, handler, second):
    failing = handler({"fail": "loss is NaN"})
    carry_out(database, failing, JOB)
    write_dataset(second, first=1_000)
    carry_out(database, failing, JOB)
    assert last(database).state is TrainingState.FAILED


def test_a_training_that_failed_before_it_had_a_dataset_is_repeated(database, handler):
    broken = handler(manifest={"splits": {}})
    for number in (1, 2):
        carry_out(database, broken, JOB)
        assert (last(database).id, last(database).state) == (number, TrainingState.FAILED)


def test_skipped_trainings_leave_no_dataset(database, handler, tmp_path):
    clock = handler()
    for _ in range(3):
        carry_out(database, clock, JOB)
    assert (last(database).id, last(database).state) == (3, TrainingState.SKIPPED)
    left = (tmp_path / "trainings").glob("00000[123]/dataset")
    assert [one.parent.name for one in left] == ["000001"]


def test_a_dataset_that_is_torn_is_named(database, handler, second):
    carry_out(database, handler(), JOB)
    again = handler()
    (second / "train.parquet").write_bytes(b"torn")
    carry_out(database, again, JOB)
    assert last(database).state is TrainingState.FAILED
    assert f"{second} can't be read" in last(database).why
