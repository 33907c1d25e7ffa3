"""A wrong patch that rewrites the base's own tests while they run never looks right."""

from dataclasses import replace

import pytest

from model.execution import suite_process
from model.execution.regression import build_baseline, compare
from model.execution.screening.patch_screening import keep_code
from model.execution.suite_command import parse_command
from model.execution.tree_changes import TreeChanges
from tests.model.execution.conftest import CODE, COMMAND
from tests.model.execution.hostile_rewrites import (
    FIRST,
    REWRITES,
    UNITTEST_FIRST,
    UNITTEST_REWRITES,
    WRONG_REWRITE,
)

REASONS = (
    "the code under test rewrites a test while it runs: ",
    "the code under test replaces what the tests use: ",
)


@pytest.fixture
def run_rewrite(bubblewrap, tree):
    """`run_rewrite(tests, line)`: what a test file says about a wrong module, without the screen for suspicious code."""

    def run(tests, line, command=COMMAND):
        (tree / "tests" / "test_zero.py").unlink()
        (tree / "tests" / "test_double.py").write_text(tests)
        baseline = build_baseline([suite_process.run_tests(tree, TreeChanges({}), command)])
        assert len(baseline.stable) >= 2
        module = WRONG_REWRITE.replace("{}", line).encode()
        changes = keep_code(TreeChanges({"doubling.py": module}))
        return compare(baseline, suite_process.run_tests(tree, changes, command))

    return run


@pytest.mark.parametrize("name", REWRITES)
def test_a_test_that_is_rewritten_does_not_pass(run_rewrite, name):
    second, line = REWRITES[name]
    evidence = run_rewrite(FIRST + second, line)
    assert evidence.unknown.startswith(REASONS)


@pytest.mark.parametrize("name", UNITTEST_REWRITES)
def test_a_test_of_unittest_that_is_rewritten_does_not_pass(run_rewrite, tree, name):
    (tree / "tests" / "__init__.py").touch()
    command = replace(parse_command("python -m unittest discover tests"), seconds=30.0)
    evidence = run_rewrite(UNITTEST_FIRST, UNITTEST_REWRITES[name], command)
    assert evidence.unknown.startswith(REASONS)


OWN = """import functools
import unittest
import doubling
from doubling import double

calls = 0
find = double


def setup_module():
    global find
    find = doubling.double


def count(function):
    number = 0

    @functools.wraps(function)
    def call(*arguments):
        nonlocal number
        number += 1
        return function(*arguments)

    return call


class TestDouble:
    @count
    def test_double(self):
        global calls
        calls += 1
        assert find(3) == 6


class TestZero(unittest.TestCase):
    expected = None

    def setUp(self):
        type(self).expected = 0

    @count
    def test_zero(self):
        self.assertEqual(double(0), self.expected)
"""
"""Tests that replace honestly what they use."""


@pytest.mark.parametrize("number", [2, 3])
def test_what_the_tests_replace_themselves_is_no_evidence(bubblewrap, tree, number):
    (tree / "tests" / "test_double.py").write_text(OWN)
    baseline = build_baseline([suite_process.run_tests(tree, TreeChanges({}), COMMAND)])
    changed = TreeChanges({"doubling.py": CODE.replace("* 2", f"* {number}").encode()})
    evidence = compare(baseline, suite_process.run_tests(tree, changed, COMMAND))
    assert evidence.unknown is None
    assert len(evidence.broken) == number - 2
