"""When the clock's training is skipped: by what datasets hold, and by what became of trainings before."""

import shutil
from functools import partial

import pytest

from app.training import State
from tests.worker import trainings
from tests.worker.attempts import carry_out
from tests.worker.trainings import JOB, MANIFEST, last, write_dataset

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


@pytest.mark.parametrize(("first", "state"), [(0, State.SKIPPED), (60, State.FINISHED)])
def test_fewer_issues_than_last_time_may_all_be_new(database, handler, second, first, state):
    carry_out(database, handler(), JOB)
    again = handler()
    write_dataset(second, TINY, first)
    carry_out(database, again, JOB)
    assert (last(database).id, last(database).state) == (2, state)


@pytest.mark.parametrize(
    "gone", [shutil.rmtree, lambda one: (one / "train.parquet").write_text("")]
)
@pytest.mark.parametrize(("issues", "new"), [(100, 40), (40, 0)])
def test_where_the_last_dataset_is_gone_numbers_are_compared(
    database, handler, second, tmp_path, issues, new, gone
):
    carry_out(database, handler(), JOB)
    again = handler()
    gone(tmp_path / "trainings" / "000001" / "dataset")
    train = MANIFEST["splits"]["train"] | {"issues": issues}
    write_dataset(second, {"splits": MANIFEST["splits"] | {"train": train}})
    carry_out(database, again, JOB)
    found = last(database)
    assert (found.id, found.state) == (2, State.SKIPPED)
    assert found.why.startswith(f"{new} issues with labels are new")


def test_of_trainings_that_are_skipped_no_dataset_is_left(database, handler, tmp_path):
    clock = handler()
    for _ in range(3):
        carry_out(database, clock, JOB)
    assert (last(database).id, last(database).state) == (3, State.SKIPPED)
    left = (tmp_path / "trainings").glob("00000[123]/dataset")
    assert [one.parent.name for one in left] == ["000001"]


def test_a_dataset_that_is_torn_is_named(database, handler, second):
    carry_out(database, handler(), JOB)
    again = handler()
    (second / "train.parquet").write_bytes(b"torn")
    carry_out(database, again, JOB)
    assert last(database).state is State.FAILED
    assert f"{second} can't be read" in last(database).why
