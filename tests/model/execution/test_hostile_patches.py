"""A wrong patch never looks right, reaches nothing, and leaves nothing alive, whatever it tries instead."""

import os
import socket
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from model.execution import candidate_tests, suite_process
from model.execution.regression import build_baseline, compare
from model.execution.screening import patch_screening
from model.execution.screening.patch_screening import keep_code
from model.execution.suite_command import parse_command
from model.execution.tree_changes import TreeChanges, apply_diff
from tests.model.execution.conftest import CODE, COMMAND, MORE_TESTS, TESTS, write_diff
from tests.model.execution.hostile_patches import FILES, HIDDEN, OPEN, UNITTEST, WRONG

CASES = """
import unittest
from doubling import double

class Doubling(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(3), 6)

    def test_zero(self):
        self.assertEqual(double(0), 0)
"""
LIMITED = replace(COMMAND, seconds=12.0, memory_bytes=512 * 1024**2)
QUICK = (
    "exit in the function",
    "runner's report",
    "forged lines",
    "daemon",
    "fork bomb",
    "memory of many processes",
    "memory of orphans",
    "memory without a process",
    "loopback",
)


def list_descendants():
    """The processes that descend from this one, by /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = (int(fields[1]), fields[0])
    found, level = set(), {os.getpid()}
    while level := {
        one for one, (parent, state) in parents.items() if parent in level and state != "Z"
    }:
        found |= level
    return found


def name_tree(command, tree):
    """The command with the tree's path among its variables: a run mounts a copy of the tree, under a name of its own."""
    return replace(command, variables={**command.variables, "TREE": str(tree)})


def list_sandboxes(tree):
    """The processes of the tree's runs, whoever their parent is by now.

    The command of bubblewrap names the tree, and everything that it starts inherits the name as a variable.
    """
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            with suppress(OSError):
                if bytes(tree) in (process / file).read_bytes():
                    found.add(int(process.name))
    return found


def wait_for_end(tree):
    """Wait until no sandbox of the tree lives, at most 2 s; return those that still live."""
    last = time.monotonic() + 2
    while (alive := list_sandboxes(tree)) and time.monotonic() < last:
        time.sleep(0.01)
    return alive


@pytest.fixture
def baseline(bubblewrap, tree):
    return build_baseline([suite_process.run_tests(tree, TreeChanges({}), COMMAND)])


@pytest.fixture
def run_hostile(tree, baseline):
    """`run_hostile(module)`: what the tests say about a wrong module, without the screen for suspicious code."""

    def run(module, files=()):
        written = {"doubling.py": module.encode()} | dict(files)
        before = list_descendants()
        began = time.monotonic()
        changes = keep_code(TreeChanges(written))
        ran = suite_process.run_tests(tree, changes, name_tree(LIMITED, tree))
        assert not wait_for_end(tree)
        assert ran.seconds < LIMITED.seconds + 2
        assert time.monotonic() - began < LIMITED.seconds + 10
        assert list_descendants() <= before, "something lives on"
        return compare(baseline, ran)

    return run


def check_tree(tree):
    assert (tree / "doubling.py").read_text() == CODE
    assert (tree / "tests" / "test_double.py").read_text() == TESTS
    assert (tree / "tests" / "test_zero.py").read_text() == MORE_TESTS


@pytest.mark.parametrize("name", OPEN)
def test_the_screen_stops_code_that_reaches_for_the_runner(tree, name):
    changes = keep_code(apply_diff(tree, write_diff("doubling.py", CODE, OPEN[name])))
    assert patch_screening.find_forbidden_code(changes)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.proof) for name in HIDDEN],
)
def test_a_hidden_attack_neither_passes_nor_survives(run_hostile, tree, name):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        evidence = run_hostile(HIDDEN[name].replace("PORT", str(server.getsockname()[1])))
        with pytest.raises(TimeoutError):
            server.accept()
    assert evidence.passes is not True
    check_tree(tree)


def test_a_run_ended_at_its_very_start_leaves_no_sandbox(bubblewrap, tree):
    def end_after(seconds):
        yield True
        time.sleep(seconds)
        yield False

    for number in range(60):
        asks = partial(next, end_after(number * 0.0001))
        run = suite_process.run_tests(tree, TreeChanges({}), name_tree(COMMAND, tree), asks)
        assert run.failure == suite_process.ENDED_BY_CALLER
    assert not wait_for_end(tree)


def test_a_sleeping_run_is_dead_two_seconds_after_its_limit(bubblewrap, tree):
    changes = TreeChanges({"doubling.py": b"import time\ntime.sleep(60)\n"})
    began = time.monotonic()
    run = suite_process.run_tests(tree, changes, replace(name_tree(LIMITED, tree), seconds=1.0))
    assert run.failure == "the tests were ended after 1 s"
    assert time.monotonic() - began < 3
    assert not wait_for_end(tree)


@pytest.mark.parametrize("name", ["memory of many processes", "memory of orphans"])
def test_processes_that_hold_too_much_together_end_the_run(bubblewrap, tree, name):
    changes = TreeChanges({"doubling.py": HIDDEN[name].encode()})
    run = suite_process.run_tests(tree, changes, replace(LIMITED, seconds=60.0))
    assert run.failure == "the tests used over 536,870,912 bytes of memory"


@pytest.mark.proof
@pytest.mark.parametrize("name", OPEN)
def test_what_the_screen_stops_does_not_pass_without_it_either(run_hostile, tree, name):
    assert run_hostile(OPEN[name]).passes is not True
    check_tree(tree)


@pytest.mark.parametrize("path", FILES)
def test_a_file_beside_the_code_decides_nothing(run_hostile, tree, path):
    assert run_hostile(WRONG, {path: FILES[path].encode()}).passes is not True
    check_tree(tree)


@pytest.mark.parametrize("name", UNITTEST)
def test_an_attack_on_unittest_does_not_pass(bubblewrap, tree, name):
    (tree / "tests" / "test_double.py").write_text(CASES)
    (tree / "tests" / "test_zero.py").unlink()
    command = replace(parse_command("python -m unittest discover -s tests -t ."), seconds=12.0)
    (tree / "tests" / "__init__.py").touch()
    baseline = build_baseline([suite_process.run_tests(tree, TreeChanges({}), command)])
    changes = keep_code(TreeChanges({"doubling.py": UNITTEST[name].encode()}))
    evidence = compare(baseline, suite_process.run_tests(tree, changes, command))
    assert len(baseline.stable) == 2
    assert evidence.passes is not True


def test_ordinary_code_passes_the_screen(try_patch):
    fixed = CODE.replace("number * 2", "sum([number, number])")
    assert try_patch(write_diff("doubling.py", CODE, fixed)).passes is True


def test_the_attacks_are_many():
    assert len(OPEN) + len(HIDDEN) + len(FILES) >= 60
    assert candidate_tests.BASE_RUNS >= 2
