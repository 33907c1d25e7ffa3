"""A small tree with tests, and patches of it."""

import difflib

import pytest

from model.domain import Patch, PatchId
from model.execution import candidate_tests
from model.execution.suite_command import SuiteCommand

CODE = "def double(number):\n    return number * 2\n"
TESTS = "from doubling import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
MORE_TESTS = "from doubling import double\n\n\ndef test_zero():\n    assert double(0) == 0\n"
COMMAND = SuiteCommand(
    ("-q", "tests"), variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, seconds=60
)
"""Without the plugins of this project's environment, which take longer to load than the tests run."""


@pytest.fixture
def tree(tmp_path):
    """A source tree whose two tests pass."""
    (tree := tmp_path / "tree").mkdir()
    (tree / "doubling.py").write_text(CODE)
    (tree / "tests").mkdir()
    (tree / "tests" / "test_double.py").write_text(TESTS)
    (tree / "tests" / "test_zero.py").write_text(MORE_TESTS)
    return tree


def write_diff(path, old, new):
    """A unified diff of one file; an empty `old` makes a new file."""
    source = f"a/{path}" if old else "/dev/null"
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), source, f"b/{path}"
    )
    return (
        f"diff --git a/{path} b/{path}\n"
        + ("" if old else "new file mode 100644\n")
        + "".join(lines)
    )


@pytest.fixture
def try_patch(bubblewrap, tree):
    """`try_patch(diff)`: what the tests of the tree say about a patch."""

    def run(diff, command=COMMAND):
        patch = Patch(PatchId("patch"), diff)
        found = candidate_tests.run_candidate_tests(tree, [patch], command, base_runs=1)
        return found.evidence[patch.id]

    return run
