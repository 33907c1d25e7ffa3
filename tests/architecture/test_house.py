"""The limits of the source: sizes, docstrings, what an import may load, what is measured."""

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from app.jobs.job import KINDS
from tests.architecture.coverage_floor import pure_files
from tests.architecture.source import (
    MODULES,
    PACKAGES,
    REVISIONS,
    ROOT,
    count_lines,
    list_functions,
    list_imports,
    parse,
    relative,
)
from worker.wiring import HANDLED

TESTS = sorted((ROOT / "tests").rglob("*.py"))
WIRE = ROOT / "app" / "github" / "wire"
"""Slices of GitHub's JSON: each class is named for the object that GitHub documents."""
HEAVY = {"torch", "transformers", "accelerate", "vllm", "numpy"}


def count_body_lines(function):
    """Lines of a function without its docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    spent = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - spent


def list_long_functions(paths):
    """`path:function` of every function with more than 50 lines."""
    return [
        f"{relative(path)}:{function.name}"
        for path in paths
        for function in list_functions(path)
        if count_body_lines(function) > 50
    ]


def list_loaded_modules(statement):
    """Top-level modules that a fresh interpreter holds after a statement."""
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(output.stdout.split())


def test_a_module_fits_on_a_few_screens():
    paths = [*MODULES, *REVISIONS, *TESTS]
    assert [relative(path) for path in paths if count_lines(path) > 300] == []


def test_a_module_says_what_lives_in_it():
    paths = [*MODULES, *REVISIONS]
    assert [relative(path) for path in paths if not ast.get_docstring(parse(path))] == []


def test_no_function_is_longer_than_fifty_lines():
    assert list_long_functions([*MODULES, *REVISIONS, *TESTS]) == []


def test_the_median_function_is_short():
    lengths = sorted(count_body_lines(f) for path in MODULES for f in list_functions(path))
    assert lengths[len(lengths) // 2] <= 10
    assert lengths[len(lengths) * 9 // 10] <= 25


def test_a_public_name_has_a_docstring():
    silent = [
        f"{relative(path)}:{node.name}"
        for path in MODULES
        for node in parse(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not (isinstance(node, ast.ClassDef) and path.parent == WIRE)
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_only_the_database_package_writes_sql():
    writers = {
        relative(path): names
        for path in MODULES
        if not path.is_relative_to(ROOT / "app" / "db")
        for names in [set(list_imports(path, "sqlalchemy")) - {"Connection", "Engine", "make_url"}]
        if names
    }
    assert writers == {}


def test_no_shipped_module_imports_tests():
    """The stand-in for GitHub and the demo stay outside the wheel."""
    importers = [
        relative(path)
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or node.names[0].name]
        if name.split(".")[0] == "tests"
    ]
    assert importers == []


def test_every_tests_directory_is_a_package():
    folders = {path.parent for path in TESTS}
    assert [relative(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_importing_the_model_package_loads_the_standard_library_only():
    ours = list_loaded_modules("import model") - list_loaded_modules("pass")
    assert {name for name in ours if name not in sys.stdlib_module_names} == {"model"}


@pytest.mark.parametrize(
    "module",
    [
        "app.web.main",
        "app.web.webhook",
        "app.cli",
        "app.operator.doctor.report",
        "worker.celery_app",
    ],
)
def test_light_processes_load_nothing_heavy(module):
    assert list_loaded_modules(f"import {module}") & HEAVY == set()


def test_types_are_checked_in_every_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert (settings["strict"], {*settings["packages"]}) == (True, {*PACKAGES})


def test_every_job_kind_has_a_handler():
    assert set(KINDS) == HANDLED


def test_every_pure_module_is_measured():
    """Coverage finds no missing branch in a module that it does not measure."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]
    pure = [str(Path(pattern).relative_to(ROOT)) for pattern in pure_files()]

    def is_measured(path):
        return any(fnmatch(path, kept) for kept in settings["include"]) and not any(
            fnmatch(path, left) for left in settings["omit"]
        )

    assert [path for path in pure if not is_measured(path)] == []
