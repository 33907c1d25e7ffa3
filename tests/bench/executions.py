"""Running a suite in the sandbox beside bare pytest: one with hardly a test, and one that takes some seconds."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import TreeChanges
from tests.bench.bench import Bench, Subject
from tests.bench.support.measurements import Figure, Pairs, at_most

FILES: Final = 200
"""Modules of the tree, as in a small library."""
_ARGUMENTS: Final = ("-q", "tests")
_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }
)


class Disagreement(Exception):
    """The sandbox and bare pytest saw different results."""


def measure(bench: Bench) -> list[Figure]:
    """X1 and X2: what the sandbox adds to a run."""
    few, many = Pairs(), Pairs()
    small = _write_tree(bench.scratch / "small", 10)
    large = _write_tree(bench.scratch / "large", 2_000)
    for number in range(bench.scale.rounds * 3):
        bench.step(f"round {number + 1}")
        few.add(*_measure_both(small, 10))
        many.add(*_measure_both(large, 2_000))
    added = tuple(1000 * (ours - bare) for ours, bare in zip(few.ours, few.beside, strict=True))
    return [
        Figure(
            "X1", f"10 tests, {FILES} files: added by the sandbox", "ms", added, asked=at_most(150)
        ),
        Figure(
            *(
                "X2",
                f"2,000 tests, {FILES} files: the whole run",
                "s",
                tuple(many.ours),
                "bare pytest",
            ),
            tuple(many.beside),
            ratio_asked=at_most(1.1),
        ),
    ]


def _write_tree(folder: Path, tests: int) -> Path:
    (folder / "tests").mkdir(parents=True)
    for number in range(FILES):
        (folder / f"module_{number}.py").write_text(f"def f(x):\n    return x + {number}\n" * 20)
    cases = "".join(
        f"def test_{number}():\n    assert sum(range({number})) >= 0 and f(1) == 1\n\n"
        for number in range(tests)
    )
    (folder / "tests" / "test_all.py").write_text(f"from module_0 import f\n\n{cases}")
    return folder


def _measure_both(tree: Path, tests: int) -> tuple[float, float]:
    """Seconds of our run and of bare pytest's, one after the other."""
    run = run_tests(tree, TreeChanges({}), SuiteCommand(_ARGUMENTS, variables=_VARIABLES))
    _require(run, tests)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", *_ARGUMENTS, "-p", "no:cacheprovider"],
        cwd=tree,
        env={"PATH": os.defpath, **_VARIABLES},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return run.seconds, time.perf_counter() - began


def _require(run: SuiteRun, tests: int) -> None:
    if len(run.list_passed()) != tests:
        raise Disagreement(f"{len(run.list_passed())} of {tests} tests passed: {run.failure}")


SUBJECT = Subject(
    "executions",
    "`model/execution` runs a suite in bubblewrap: copy of the tree, limits, signed report. Bare pytest runs the same "
    "suite in the tree itself.",
    measure,
)
