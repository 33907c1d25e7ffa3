"""A commit without tests gets tests: calls from the tree's own tests, with exchanged literals, whose value it changes."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from model.execution.suite_process import run_tests
from model.execution.suite_run import Outcome, SuiteRun
from model.execution.tree_changes import TreeChanges
from tests.training.gym.history import RIGHT, TESTS, WRONG
from training.gym.generated import call_variants, closed_calls, probe
from training.gym.generated.generator import ChangedTree, generate_tests

PARAMETRISED = """
import pytest
from shop import cart as basket
from os import system

PRICE = 3

@pytest.mark.parametrize("name", ["apple", "pear"])
def test_it(name, tmp_path):
    full = basket.Cart(PRICE)
    assert full.count(name) == 1
    assert full.save(tmp_path) is None
    system("ls")
    open("file").write(basket.x())
"""


def collect(text):
    return list(closed_calls.collect_calls({"tests/test_a.py": text.encode()}, frozenset({"shop", "shop.cart"})))  # fmt: skip


def test_calls_hold_their_variables_and_reach_no_file_or_process():
    calls = collect(PARAMETRISED)
    assert set(calls) == {
        "shop.cart.Cart(3)",
        "shop.cart.Cart(3).count('apple')",
        "shop.cart.Cart(3).count('pear')",
        "shop.cart.x()",
    }


def test_a_literal_is_exchanged_and_a_new_word_joins_a_string():
    choice = random.Random(1)
    varied = {call_variants.vary_call("a.b('x y', 1)", ["'z'", "2"], ["NEW"], choice) for _ in range(50)}  # fmt: skip
    assert {"a.b('z', 1)", "a.b('x y', 2)"} <= varied
    assert any("NEW" in call for call in varied)
    assert call_variants.list_new_words(b"a = 'old'", b"a = 'old NEW'") == ["NEW"]


@pytest.fixture
def tree(tmp_path):
    """The base tree of a commit that fixes doubling."""
    (tmp_path / "doubling.py").write_text(WRONG)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_three.py").write_text(TESTS.replace("== 6", "== 4"))
    return tmp_path


def change(tree, text):
    patch = TreeChanges({"doubling.py": text.encode()}, (), {"doubling.py": WRONG.encode()})
    return ChangedTree(tree, patch, "pytest -q", Path(sys.executable), 60.0)


def test_a_change_of_comments_and_docstrings_gives_no_tests(tree):
    text = WRONG.replace("Double a number.", "Return twice the number.") + "# Done\n"
    assert generate_tests(change(tree, text), "seed") is None


def test_a_forged_report_says_nothing():
    assert probe.read_report(SuiteRun(errors={"t.py::test_part[0]": "@@[1]@@"}), 1) is None
    assert probe.read_report(SuiteRun(errors={"t.py::test_part[0]": '@@["= 1"]@@'}), 2) is None
    parts = {"t.py::test_part[1]": '@@1"]@@', "t.py::test_part[0]": '@@["= @@'}
    assert probe.read_report(SuiteRun(errors=parts), 1) == ["= 1"]


@pytest.mark.proof
def test_the_tests_fail_before_and_pass_after(bubblewrap, tree):
    changed = change(tree, RIGHT)
    first, second = (generate_tests(changed, "seed") for _ in range(2))
    assert first == second
    ((path, content),) = first.written.items()
    assert path == "tests/test_generated.py"
    assert b"assert doubling.double(" in content
    outcomes = {}
    for name, text in (("before", WRONG), ("after", RIGHT)):
        module = {"doubling.py": text.encode(), path: content}
        run = run_tests(
            tree, TreeChanges(module), replace(changed.select_probe(), arguments=(path,))
        )
        outcomes[name] = run.outcomes
    assert set(outcomes["after"].values()) == {Outcome.PASSED}
    assert Outcome.FAILED in outcomes["before"].values()
