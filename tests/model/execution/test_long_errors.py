"""The error of a test reaches the parent with the line of the test and with what was raised."""

from model.execution.suite_process import run_in_copy
from tests.model.execution.conftest import COMMAND

LINES = "".join(f'    text = "line {number} of a long function"\n' for number in range(200))
MODULE = f"""
def fail():
{LINES}    raise ValueError("at the end")


def test_fail():
    fail()
"""


def test_both_ends_of_a_long_error_are_sent(bubblewrap, tree):
    (tree / "tests" / "test_fail.py").write_text(MODULE)
    error = run_in_copy(tree, COMMAND).errors["tests/test_fail.py::test_fail"]
    assert "tests/test_fail.py:207:" in error
    assert error.endswith("ValueError")
    assert "at the end" in error
    assert "\n...\n" in error
    assert len(error) < 6_100
