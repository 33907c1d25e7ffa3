"""No step that a failure depends on is lost."""

import pytest

from tests.training.gym.statements.samples import list_steps, print_failure, write


def list_steps_of(body, head="", start="def test_it():"):
    """The steps of a test whose last line fails."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return list_steps(f"{head}{start}\n{lines}")


@pytest.mark.parametrize("call", ["r.read(buf)", "r.read(into=buf)", "r.read(**buf)"])
def test_a_call_may_change_each_of_its_arguments(call):
    steps = f"buf = []\nr = Reader()\n{call}\nassert buf == [1]"
    assert list_steps_of(steps) == [
        "Set `buf` to `[]`.",
        "Set `r` to `Reader()`.",
        f"Call `{call}`.",
    ]


def test_a_value_that_the_failing_step_adds_to_is_used():
    assert list_steps_of("total = Money(1)\nother = Money(2)\ntotal += other") == [
        "Set `total` to `Money(1)`.",
        "Set `other` to `Money(2)`.",
        "Run `total += other`.",
    ]


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        ("populate()", "Call `populate()`."),
        ("await populate()", "Call and await `populate()`."),
        ("pkg.mode = 2", "Set `pkg.mode` to `2`."),
        ("pkg.mode, y = 2, 3", "Set `pkg.mode, y` to `(2, 3)`."),
        ("pkg.mode: int = 2", "Set `pkg.mode` to `2`."),
        ("pkg.level += 1", "Run `pkg.level += 1`."),
        ("del pkg.CACHE['a']", "Delete `pkg.CACHE['a']`."),
        ("for n in NAMES:\n    pass\nelse:\n    setup()", "For each `n` of `NAMES`, do nothing; if no step ends the loop, call `setup()`."),
        ("async for n in NAMES:\n    setup(n)", "For each `n` of the async `NAMES`, call `setup(n)`."),
        ("try:\n    pass\nexcept ValueError:\n    setup()", "Try this (do nothing); if it raises `ValueError`, call `setup()`."),
        ("if pkg:\n    pass\nelse:\n    setup()", "If `pkg` is true, do nothing; otherwise, call `setup()`."),
        ("def inner():\n    setup()", None),
        ("y = 3", None),
        ("y += 3", None),
    ],
)  # fmt: skip
def test_a_step_that_changes_what_modules_hold_is_kept(step, shown):
    steps = list_steps_of(f"x = 1\n{step}\nassert x == 2", start="async def test_it():")
    assert steps == ["Set `x` to `1`.", *([shown] if shown else [])]


def test_imports_within_the_package_of_the_tests_are_kept():
    head = (
        "from .mock import Server\nfrom .types import Kind\nfrom .util import go\n"
        "from types import SimpleNamespace\n\n\n"
    )
    assert list_steps_of("assert go(Server, Kind, SimpleNamespace) == 1", head) == [
        "Import `Server` from `.mock`.",
        "Import `Kind` from `.types`.",
        "Import `go` from `.util`.",
    ]


@pytest.mark.parametrize(
    ("head", "steps"),
    [
        ("CASES = []\nCASES.append(3)", ["Set `CASES` to `[]`.", "Call `CASES.append(3)`."]),
        ("CASES = []\nCASES.extend(i for i in LIST)\nLIST = [1]", ["Set `CASES` to `[]`.", "Call `CASES.extend((i for i in LIST))`.", "Set `LIST` to `[1]`."]),
        ("CASES = 1\nCASES += 2", ["Set `CASES` to `1`.", "Run `CASES += 2`."]),
        ("CASES = {}\nCASES['a'] = 2\ndel CASES['a']", ["Set `CASES` to `{}`.", "Set `CASES['a']` to `2`.", "Delete `CASES['a']`."]),
        ("CASES = []\nOTHER = sorted(CASES)", ["Set `CASES` to `[]`."]),
        ("import pytest\npytest.importorskip('numpy')\nCASES = pytest", ["Set `CASES` to `pytest`."]),
    ],
)  # fmt: skip
def test_steps_of_a_module_that_change_a_definition_are_kept(head, steps):
    assert list_steps_of("assert read(CASES) == 1", f"{head}\n\n\n") == steps


BLOCKS = """
def test_it():
    {opening}
        x = make()
    {middle}
        {failing}
"""


@pytest.mark.parametrize(
    ("opening", "middle", "steps"),
    [
        ("try:", "except ValueError:\n        pass\n    else:", ["Set `x` to `make()`."]),
        ("try:", "finally:", ["Set `x` to `make()`."]),
        ("try:", "except ValueError:\n        x = 2\n    finally:", ["Try this (set `x` to `make()`); if it raises `ValueError`, set `x` to `2`."]),
        ("for y in z():", "else:", ["For each `y` of `z()`, set `x` to `make()`."]),
        ("if y:", "else:", []),
    ],
)  # fmt: skip
def test_the_blocks_that_ran_before_that_of_the_failure_are_told(opening, middle, steps):
    source = BLOCKS.format(opening=opening, middle=middle, failing="assert x == 1")
    assert list_steps(source) == steps


CLASS = """
class TestBox:
    def setup_method(self):
        self.x = load("a")

    def test_it(self{argument}):
        {step}
        assert {test}
"""


@pytest.mark.parametrize(
    ("argument", "step", "test", "steps"),
    [
        ("", "x = 2", "self.x == x", ["Set `self.x` to `load('a')`.", "Set `x` to `2`."]),
        (", x", "go()", "self.x == 3", ["Set `self.x` to `load('a')`.", "Call `go()`."]),
        ("", "y = 2", "self.x == y", ["Set `x` to `load('a')`."]),
    ],
)
def test_an_attribute_keeps_self_beside_a_variable_of_its_name(argument, step, test, steps):
    source = CLASS.format(argument=argument, step=step, test=test)
    error = print_failure(source, 8, ["assert 404 == 200"])
    run = write(source, {"TestBox::test_it": error}).partition("What I run:\n\n")[2]
    shown = [line.partition(" ")[2] for line in run.partition("\n\n")[0].splitlines()]
    assert shown == steps
    assert f"`{shown[0].split('`')[1]}` is `404`." in run


def test_the_last_of_two_functions_of_one_name_runs():
    source = (
        "def test_it():\n    old()\n\n\n"
        "def test_it():\n    new()\n    box = read()\n    assert box.size == 1\n"
    )
    assert list_steps(source) == ["Call `new()`.", "Set `box` to `read()`."]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("import os as o, numpy as np", "Import `numpy` as `np`."),
        ("import numpy as np, os as o", "Import `numpy` as `np`."),
        ("import numpy as np, shop.prices as o", "Import `numpy` as `np` and `shop.prices` as `o`."),
    ],
)  # fmt: skip
def test_each_name_of_an_import_is_kept_or_dropped_by_its_own_module(line, shown):
    assert list_steps_of("assert np.load(o.devnull) == 1", f"{line}\n\n\n") == [shown]


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (
            "try:\n    from shop import helper\nexcept ImportError:\n    from shop.old import helper",
            "Try this (import `helper` from `shop`); if it raises `ImportError`, import `helper` from `shop.old`.",
        ),
        (
            "try:\n    import numpy\nexcept ImportError:\n    helper = None\nelse:\n    helper = numpy.sum",
            "Try this (import `numpy`); if it raises `ImportError`, set `helper` to `None`; if it raises nothing, set `helper` to `numpy.sum`.",
        ),
        (
            "try:\n    helper = unicode\nexcept NameError:\n    helper = str",
            "Try this (set `helper` to `unicode`); if it raises `NameError`, set `helper` to `str`.",
        ),
        (
            "if sys.version_info[0] == 3:\n    helper = 1\nelse:\n    helper = 2",
            "If `sys.version_info[0]` is `3`, set `helper` to `1`; otherwise, set `helper` to `2`.",
        ),
        ("if WINDOWS:\n    def helper():\n        return 1", "If `WINDOWS` is true, define `helper()` (return `1`)."),
        ("with quiet():\n    from shop import helper", "Enter the context `quiet()`, import `helper` from `shop`."),
        ("for helper in NAMES:\n    break", "For each `helper` of `NAMES`, end the loop."),
        (
            "match NAMES:\n    case [helper]:\n        def other():\n            inner = 1",
            "Make `helper` and `other` (I leave out how).",
        ),
    ],
)  # fmt: skip
def test_a_block_of_a_module_is_told_with_all_its_branches(head, shown):
    body = "assert run(helper) == 1"
    assert list_steps_of(body, f"{head}\n\n\n") == [shown]
    assert list_steps_of("assert run(other_name) == 1", f"{head}\n\n\n") == []


def test_a_change_in_a_block_of_a_module_is_told_with_its_condition():
    head = "CASES = [1]\nif WINDOWS:\n    CASES.append(2)\n    size = len(CASES)\n\n\n"
    assert list_steps_of("assert run(CASES) == 1", head) == [
        "Set `CASES` to `[1]`.",
        "If `WINDOWS` is true (call `CASES.append(2)`; set `size` to `len(CASES)`).",
    ]
