"""A hostile test is never kept, and a hostile patch never makes an honest test say that the issue is resolved."""

import socket
import time

import pytest

from model.domain import Patch, PatchId
from model.execution import candidate_tests
from model.execution.screening.patch_screening import keep_code
from model.execution.tree_changes import TreeChanges
from model.reproduction import reproduction_runs
from model.reproduction.reproduction_test import DropReason, IssueOutcome, collect_tests
from tests.model.execution.conftest import write_diff
from tests.model.execution.test_hostile_patches import list_descendants
from tests.model.reproduction.conftest import CODE, RUNS, SUITE, build_patch
from tests.model.reproduction.hostile_tests import ECHO, HONEST, PATCHES, SAY, TESTS

SLOW = (
    "endless output",
    "endless",
    "sleeps",
    "endless sayings",
    "multiprocessing",
    "memory",
    "threads",
)


@pytest.fixture(autouse=True)
def _nothing_outlives_or_changes(monkeypatch, tree):
    """After each test no process is left, and the tree is as it was."""
    monkeypatch.setattr(reproduction_runs, "SECONDS", 8.0)
    before, begin = list_descendants(), time.monotonic()
    yield
    assert list_descendants() <= before, "something lives on"
    assert time.monotonic() - begin < 60
    assert (tree / "halving.py").read_text() == CODE
    assert (tree / "tests" / "test_halving.py").read_text() == SUITE
    assert sorted(path.name for path in tree.iterdir()) == ["halving.py", "tests"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.proof if name in SLOW else []) for name in TESTS]
)
def test_a_hostile_test_is_never_kept(keep, name):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        kept = keep(TESTS[name].replace("PORT", str(server.getsockname()[1])))
        with pytest.raises(TimeoutError):
            server.accept()
    assert kept.tests == ()
    assert sum(kept.dropped.values()) == 1
    assert DropReason.NEVER_RESOLVED not in kept.dropped, "another reason must drop it"


def test_without_its_attack_a_hostile_test_would_be_kept(keep):
    assert len(keep(SAY).tests) == 1


@pytest.mark.parametrize("text", [HONEST, ECHO], ids=["honest", "careless"])
@pytest.mark.parametrize("name", PATCHES)
def test_a_hostile_patch_is_never_resolved(keep, tree, monkeypatch, name, text):
    """Without the screen for suspicious code, which stops some of them before."""
    monkeypatch.setattr(
        reproduction_runs,
        "prepare_changes",
        lambda _tree, _patch: keep_code(TreeChanges({"halving.py": PATCHES[name].encode()})),
    )
    kept = keep(text)
    assert len(kept.tests) == 1
    found = reproduction_runs.run_on_candidates(tree, [build_patch("bad", "")], kept, RUNS)
    assert found.outcomes[PatchId("bad")] != (IssueOutcome.RESOLVED,)


def test_a_patch_cannot_bring_the_test(keep, tree):
    """A patch that writes a file where the tests lie does not change them."""
    kept = keep(HONEST)
    path = f".r4p-reproduction/{kept.tests[0].id}.py"
    diff = (
        write_diff(path, "", "print('Issue resolved')\n") + build_patch("", f"{CODE}\nX = 1\n").diff
    )
    patch = Patch(PatchId("bad"), diff)
    assert isinstance(candidate_tests.prepare_changes(tree, patch), TreeChanges)
    found = reproduction_runs.run_on_candidates(tree, [patch], kept, RUNS)
    assert found.outcomes == {"bad": (IssueOutcome.REPRODUCED,)}


def test_a_patch_cannot_shadow_the_standard_library(keep, tree):
    kept = keep(
        "import math\nfrom halving import half\n"
        "print('Issue resolved' if math.isclose(half(3), 1.5) else 'Issue reproduced')\n"
    )
    diff = write_diff("math.py", "", "def isclose(*_):\n    return True\n")
    found = reproduction_runs.run_on_candidates(tree, [Patch(PatchId("bad"), diff)], kept, RUNS)
    assert found.outcomes == {"bad": (IssueOutcome.REPRODUCED,)}


def test_hostile_texts_are_data_before_they_run():
    kept = collect_tests(TESTS.values())
    assert len(kept.tests) + sum(kept.dropped.values()) == len(TESTS)
