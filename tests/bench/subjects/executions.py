"""Running a suite in the sandbox beside bare pytest, and starting the Python of a cached test environment beside a bare one."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from model.environments.build import build_environment
from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.environments.recipe import EnvironmentRecipe
from model.environments.uv_process import PackageSources
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import TreeChanges
from model.sandbox import walls
from model.sandbox.walls import Walls
from tests.bench.bench import Bench, Subject
from tests.bench.support.measurements import Figure, Pairs, at_most
from tests.model.environments.conftest import PYTHON, write_wheel

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


_PACKAGES: Final = 40
"""Packages of the test environment, with 25 modules each."""
_START: Final = "import package_0"


class Disagreement(Exception):
    """The sandbox and bare pytest saw different results."""


def measure(bench: Bench) -> list[Figure]:
    """X1 and X2: what the sandbox adds to a run. X3: how soon a cached environment works."""
    return [*_measure_runs(bench), *_measure_start(bench)]


def _measure_runs(bench: Bench) -> list[Figure]:
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


def _measure_start(bench: Bench) -> list[Figure]:
    """Seconds from the name of an environment to its Python, in the sandbox, with a package of it imported."""
    cache = EnvironmentCache(bench.scratch / "environments")
    recipe = EnvironmentRecipe(PYTHON, tuple(f"package_{n}" for n in range(_PACKAGES)))
    sources = PackageSources(folders=(_write_packages(bench.scratch),), is_offline=True)
    bench.step("building a test environment")
    built = build_environment(recipe, cache.folder, sources=sources)
    cache.assign("bench", built)
    named, asked = Pairs(), Pairs()
    for _ in range(bench.scale.rounds * 7):
        named.add(*_time_start(lambda: cache.open("bench"), built.python))
        again = partial(build_environment, recipe, cache.folder, sources=sources)
        asked.add(*_time_start(again, built.python))
    what = f"{_PACKAGES} packages, cached: from {{}} to an import in the sandbox"
    return [
        _build_start("X3", what.format("its name"), named, 100),
        _build_start("X3 recipe", what.format("its recipe, as a gym asks,"), asked, None),
    ]


def _build_start(name: str, what: str, pairs: Pairs, most: float | None) -> Figure:
    ours, bare = (tuple(1000 * value for value in values) for values in (pairs.ours, pairs.beside))
    asked = None if most is None else at_most(most)
    return Figure(name, what, "ms", ours, "its Python, bare", bare, asked=asked)


def _write_packages(scratch: Path) -> Path:
    (folder := scratch / "packages").mkdir()
    for package in (f"package_{number}" for number in range(_PACKAGES)):
        modules = {f"{package}_{n}": f"VALUE = {n}\n" for n in range(24)}
        write_wheel(folder, package, **{package: "VALUE = 1\n"}, **modules)
    return folder


def _time_start(find: Callable[[], TestEnvironment], bare: Path) -> tuple[float, float]:
    """Seconds until the environment that `find` returns has run a line in the sandbox, and those of `bare` without one."""
    began = time.perf_counter()
    python = find().python
    mounts = tuple((path, path) for path in walls.list_python_folders(python))
    with walls.open_filter() as handle:
        limited = Walls(mounts, 2**20, leaves_root=True, filter_handle=handle)
        command = walls.build_command(limited, walls.leave_root([str(python), "-c", _START]))
        subprocess.run(command, pass_fds=(handle,), env={}, check=True)
    ended = time.perf_counter()
    subprocess.run([bare, "-c", _START], env={}, check=True)
    return ended - began, time.perf_counter() - ended


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
    """Seconds of our run, with the copy of the tree made and removed, and of bare pytest's after it."""
    began = time.perf_counter()
    run = run_tests(tree, TreeChanges({}), SuiteCommand(_ARGUMENTS, variables=_VARIABLES))
    ours = time.perf_counter() - began
    _require(run, tests)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", *_ARGUMENTS, "-p", "no:cacheprovider"],
        cwd=tree,
        env={"PATH": os.defpath, **_VARIABLES},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return ours, time.perf_counter() - began


def _require(run: SuiteRun, tests: int) -> None:
    if len(run.list_passed()) != tests:
        raise Disagreement(f"{len(run.list_passed())} of {tests} tests passed: {run.failure}")


SUBJECT = Subject(
    "executions",
    "`model/execution` runs a suite in bubblewrap: copy of the tree, limits, signed report. Bare pytest runs the same "
    "suite in the tree itself. X3 finds a test environment in the cache, and starts its Python in bubblewrap; the floor "
    "starts the same Python without a sandbox.",
    measure,
)
