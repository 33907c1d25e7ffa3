"""A prompt shows few tests, of different functions and errors, each with its text and its output."""

from training.gym.back_translation.failing_test import choose_failing_tests

MODULE = b"""\
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_double(number):
    assert double(number) == 2 * number

class TestHalves:
    def test_half(self):
        assert halve(3) == 1.5

def test_zero():
    assert double(0) == 0
"""
MODULES = {"tests/test_it.py": MODULE}
IDS = [
    "tests/test_it.py::TestHalves::test_half",
    "tests/test_it.py::test_double[1]",
    "tests/test_it.py::test_double[2::x]",
    "tests/test_it.py::test_zero",
]


def test_a_test_has_the_text_of_its_function_and_its_output():
    half, double, zero = choose_failing_tests(IDS, {IDS[0]: "E  1", IDS[1]: "E  2"}, MODULES)
    assert half.source == "def test_half(self):\n        assert halve(3) == 1.5"
    assert double.source.startswith("@pytest.mark.parametrize")
    assert double.source.endswith("== 2 * number")
    assert (half.output, double.output, zero.output) == ("E  1", "E  2", "")


def test_tests_with_different_errors_come_first():
    errors = dict.fromkeys((*IDS[:3], "tests/test_it.py"), "E  same") | {IDS[3]: "E  zero"}
    tests = choose_failing_tests(IDS, errors, MODULES)
    assert [test.output for test in tests] == ["E  same", "E  zero", "E  same"]


def test_a_module_that_cannot_be_imported_gives_its_error_to_all_its_tests():
    tests = choose_failing_tests(IDS, {"tests/test_it.py": "E  ImportError"}, MODULES)
    assert {test.output for test in tests} == {"E  ImportError"}
    assert len(tests) == 3


def test_no_more_than_three_tests_are_shown():
    ids = [f"tests/test_it.py::test_{number}" for number in range(9)]
    tests = choose_failing_tests(ids, {identifier: identifier for identifier in ids}, {})
    assert [test.source for test in tests] == ids[:3]


def test_long_texts_keep_their_beginning_and_their_end():
    body = b"".join(b"    x = %d\n" % number for number in range(2_000))
    modules = {"test_it.py": b"def test_long():\n" + body}
    output = "begin\n" + "line\n" * 2_000 + "E  end"
    (test,) = choose_failing_tests(["test_it.py::test_long"], {"test_it.py": output}, modules)
    for text, ends in (
        (test.source, ("def test_long", "x = 1999")),
        (test.output, ("begin", "E  end")),
    ):
        assert len(text) < 3_000
        assert text.startswith(ends[0])
        assert text.endswith(ends[1])


def test_addresses_and_folders_of_the_machine_are_hidden():
    output = (
        "E  <f at 0x7f0011223344> in /home/me/envs/lib/x.py, not https://a.org/b/c/d of a/b/c.py"
    )
    (test,) = choose_failing_tests(["t.py::test"], {"t.py": output}, {})
    assert test.output == "E  <f at 0x…> in …/x.py, not https://a.org/b/c/d of a/b/c.py"
