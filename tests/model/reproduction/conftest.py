"""A small tree with a bug, patches of it, and reproduction tests of that bug."""

import pytest

from model.domain import Patch, PatchId
from model.execution.suite_command import SuiteCommand
from model.reproduction import reproduction_runs
from model.reproduction.reproduction_runs import ScriptRuns
from model.reproduction.reproduction_test import collect_tests
from tests.model.execution.conftest import write_diff

CODE = "def half(number):\n    return number // 2\n"
GOOD = "def half(number):\n    return number / 2\n"
WRONG = "def half(number):\n    return -(-number // 2)\n"
SUITE = "from halving import half\n\n\ndef test_four():\n    assert half(4) == 2\n"
RUNS = ScriptRuns(SuiteCommand(seconds=60))


def write_test(condition="half(3) == 1.5", before="", imports="from halving import half"):
    """A reproduction test in the form that the prompt asks for."""
    return (
        f"{imports}\n\n\ndef main():\n    {before or 'pass'}\n    try:\n        resolved = {condition}\n"
        "    except Exception:\n        print('Other issues')\n        return\n"
        "    print('Issue resolved' if resolved else 'Issue reproduced')\n\n\nmain()\n"
    )


def build_patch(name, new):
    return Patch(PatchId(name), write_diff("halving.py", CODE, new))


@pytest.fixture
def tree(tmp_path):
    """A source tree whose `half` rounds down."""
    (tree := tmp_path / "tree").mkdir()
    (tree / "halving.py").write_text(CODE)
    (tree / "tests").mkdir()
    (tree / "tests" / "test_halving.py").write_text(SUITE)
    return tree


@pytest.fixture
def keep(bubblewrap, tree):
    """`keep(*texts)`: the tests that are kept after their runs on the base."""
    return lambda *texts: reproduction_runs.keep_reproducing(tree, collect_tests(texts), RUNS)


@pytest.fixture
def judge(keep, tree):
    """`judge(text, **modules)`: what a kept test says about patches that replace the module."""

    def run(text, **modules):
        kept = keep(text)
        assert len(kept.tests) == 1, kept.dropped
        patches = [build_patch(name, new) for name, new in modules.items()]
        found = reproduction_runs.run_on_candidates(tree, patches, kept, RUNS)
        return {patch: outcome for patch, (outcome,) in found.outcomes.items()}

    return run
