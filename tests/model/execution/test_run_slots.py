"""How many runs fit beside each other."""

import pytest

from model.execution.run_slots import choose_slots, count_slots
from model.execution.suite_command import SuiteCommand

GIGABYTE = 1024**3


@pytest.mark.parametrize(
    ("cores", "free", "slots"),
    [
        (8, None, 8),
        (8, 100 * GIGABYTE, 8),
        (8, 5 * GIGABYTE, 3),
        (2, 5 * GIGABYTE, 2),
        (8, 0, 1),
    ],
)
def test_runs_are_limited_by_cores_and_memory(cores, free, slots):
    assert choose_slots(cores, free, GIGABYTE // 2) == slots


def test_a_command_that_needs_all_memory_runs_alone():
    assert count_slots(SuiteCommand(scratch_bytes=2**50)) == 1
    assert count_slots(SuiteCommand(scratch_bytes=0)) >= 1
