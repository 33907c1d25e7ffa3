"""The house's limits, held by machine: sizes, docstrings, packages, what an import may load."""

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from app.jobs.job import KINDS
from tests.architecture.coverage_floor import pure_files
from worker.wiring import HANDLED

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "worker", "model", "training")
MODULES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
REVISIONS = sorted((ROOT / "migrations").rglob("*.py"))
HEAVY = {"torch", "transformers", "accelerate", "vllm", "numpy"}


def named(path):
    return str(path.relative_to(ROOT))


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    """Lines of a function without its docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    spent = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - spent


def is_slice(path):
    """A slice of GitHub's JSON is named for the object it is cut from, which GitHub documents."""
    return path.name.startswith("wire")


def imported_from(tree, module):
    """Names imported from one module, anywhere in a file."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == module
        for alias in node.names
    }


def loaded_by(statement):
    """Top-level modules a fresh interpreter holds after a statement."""
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(output.stdout.split())


@pytest.mark.parametrize("path", MODULES + REVISIONS, ids=named)
def test_a_module_fits_on_a_few_screens_and_says_what_lives_in_it(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 300, "which two rooms has it become?"
    assert ast.get_docstring(ast.parse(text)), "one sentence on what lives here"


@pytest.mark.parametrize("path", MODULES + REVISIONS, ids=named)
def test_no_function_is_longer_than_fifty_lines(path):
    long = {f.name: body_lines(f) for f in functions(ast.parse(path.read_text()))}
    assert {name: lines for name, lines in long.items() if lines > 50} == {}


def test_tests_keep_to_the_same_sizes():
    texts = {named(path): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    assert [path for path, text in texts.items() if len(text.splitlines()) > 300] == []
    long = [
        (path, function.name)
        for path, text in texts.items()
        for function in functions(ast.parse(text))
        if body_lines(function) > 50
    ]
    assert long == []


def test_the_median_function_is_short():
    lengths = sorted(
        body_lines(f) for path in MODULES for f in functions(ast.parse(path.read_text()))
    )
    assert lengths[len(lengths) // 2] <= 10
    assert lengths[len(lengths) * 9 // 10] <= 25


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_what_others_may_use_says_what_it_does(path):
    tree = ast.parse(path.read_text())
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not (isinstance(node, ast.ClassDef) and is_slice(path))
    ]
    assert [node.name for node in public if not ast.get_docstring(node)] == []


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "db" not in p.parts or "app" not in p.parts], ids=named
)
def test_only_the_database_package_writes_sql(path):
    assert imported_from(ast.parse(path.read_text()), "sqlalchemy") <= {"Connection", "Engine"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_shipped_module_imports_tests(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert [name for name in names if name.split(".")[0] == "tests"] == []


def test_every_tests_directory_is_a_package():
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [named(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_importing_the_model_package_loads_the_standard_library_only():
    ours = loaded_by("import model") - loaded_by("pass")
    assert {name for name in ours if name not in sys.stdlib_module_names} == {"model"}


@pytest.mark.parametrize(
    "module",
    ["app.web.main", "app.web.webhook", "app.cli", "app.operator.doctor", "worker.celery_app"],
)
def test_light_processes_load_nothing_heavy(module):
    assert loaded_by(f"import {module}") & HEAVY == set()


def test_types_are_checked_in_every_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert (settings["strict"], {*settings["packages"]}) == (True, {*PACKAGES})


def test_every_job_kind_has_a_handler():
    assert set(KINDS) == HANDLED


def test_every_pure_module_is_measured():
    """What coverage doesn't measure has no missing branches, however few are tested."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]
    pure = [str(Path(pattern).relative_to(ROOT)) for pattern in pure_files()]

    def measured(path):
        return any(fnmatch(path, kept) for kept in settings["include"]) and not any(
            fnmatch(path, left) for left in settings["omit"]
        )

    assert [path for path in pure if not measured(path)] == []
