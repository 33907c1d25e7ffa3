"""A repository's own text never ends a build: a test that cannot be told keeps the lines of its error."""

import itertools
import sys

import pytest

from tests.training.gym.statements.samples import list_steps, print_failure, write

DEEP = "box" + ".add()" * 700
"""Python can parse it, but can neither copy nor print its syntax tree."""
DIGITS = "1" * 5_000
"""More digits than Python reads as one number."""
HUGE = f"0x{'f' * 5_000}"
"""A number that Python can read, but cannot print."""

FUNCTION = f"def test_it():\n    box = {DEEP}\n    assert box.size == 1\n"
METHOD = (
    f"class TestBox:\n    def test_it(self):\n        self.{DEEP}\n        assert box.size == 1\n"
)
FIXTURE = """
import pytest


@pytest.fixture{mark}
def box(request):
    box = {value}
    return box
"""
USER = "def test_it(box):\n    assert box.size == 1\n"


@pytest.mark.parametrize(
    ("source", "conftest"),
    [
        (FUNCTION, ""),
        (METHOD, ""),
        (USER, FIXTURE.format(mark="", value=DEEP)),
        (USER, FIXTURE.format(mark=f"(params=[{DEEP}])", value="request.param")),
        (USER, FIXTURE.format(mark=f"(params=[{HUGE}])", value="request.param")),
        (USER, FIXTURE.format(mark="(params=[1, 2])", value=f"request.param.{DEEP}")),
    ],
)
def test_source_that_is_nested_too_deeply_leaves_the_error(source, conftest):
    test = "TestBox::test_it" if source == METHOD else "test_it[1]"
    error = print_failure(source, len(source.splitlines()), ["assert 0 == 1"])
    other = "def test_other():\n    assert bag.width == 2\n"
    both = f"{source}\n\n{other}"
    failing = print_failure(both, len(both.splitlines()), ["assert 3 == 2"])
    text = write(both, {test: error, "test_other": failing}, conftest)
    assert 'This case fails: "it".' in text
    assert "    assert 0 == 1\n" in text
    assert "`bag.width` is `3`." in text


def test_a_marked_line_that_is_nested_too_deeply_leaves_the_error():
    error = (
        f"    print 'x'\n>       {DEEP}\nE       ValueError: no\n\ntests/test_it.py:2: ValueError"
    )
    assert "    ValueError: no\n" in write("print 'x'\n", {"test_old": error})


def test_a_line_number_of_too_many_digits_is_no_place():
    source = "def test_it():\n    box.add()\n"
    error = print_failure(source, 2, ["ValueError: no"], head=f"tests/test_it.py:{DIGITS}: Error")
    assert "1. Call `box.add()`.\n" in write(source, {"test_it": error})


@pytest.mark.parametrize("digits", [DIGITS, "7"])
def test_a_row_number_of_too_many_digits_is_no_row(digits):
    source = (
        "import pytest\n\n\n@pytest.mark.parametrize('size', [1, 2])\n"
        "def test_it(size):\n    assert box.add(size)\n"
    )
    error = print_failure(source, 6, ["assert False"])
    text = write(source, {f"test_it[size{digits}]": error})
    assert "`box.add(size)` is `False`." in text


def test_the_id_of_a_number_that_cannot_be_printed_is_unknown():
    source = (
        f"import pytest\n\n\n@pytest.mark.parametrize('size', [{HUGE}])\n"
        "def test_it(size):\n    assert box.add(size)\n"
    )
    error = print_failure(source, 6, ["assert False"])
    assert "assert False" in write(source, {"test_it[1]": error})


def test_nested_decorated_functions_take_no_exponential_time():
    """The number of calls, unlike the time, is the same on each machine."""
    source = "def test_it():\n"
    for level in range(20):
        indent = "    " * (level + 1)
        source += f"{indent}@box.register(level={level})\n{indent}def inner_{level}(value):\n"
        source += f"{indent}    match value:\n{indent}        case _:\n"  # a step without words
        source += f"{indent}            pass\n"
    source += "    " * 21 + "return value\n    box.run(inner_0)\n    assert box.status == 200\n"
    calls = itertools.count()

    def count(*_):
        if next(calls) > 500_000:
            pytest.fail("too many calls")

    sys.setprofile(count)
    try:
        steps = list_steps(source)
    finally:
        sys.setprofile(None)
    assert steps[-1] == "Call `box.run(inner_0)`."
