"""Find the tests that the benchmark names: `method (module.Class)`, or the first line of a docstring (pure)."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from model.patches.diff import list_touched_files

_NAMED: Final = re.compile(r"(\w+) \(([\w.]+)\)")
_TESTS: Final = "tests/"
"""The folder of Django's tests. Its modules are named from there."""


def list_modules(
    test_patch: str, names: Iterable[str], exists: Callable[[str], bool]
) -> dict[str, str]:
    """Return the path of each test module that an issue's tests touch, by the module's name, sorted.

    `names` are the benchmark's names of tests, and `exists` tells whether the tree with the test patch holds a file.
    """
    touched = {
        _name_module(path) for path in list_touched_files(test_patch) if _is_test_module(path)
    }
    named = {test.rsplit(".", 2)[0] for name in names if (test := _parse_name(name))}
    paths = {module: _locate(module) for module in sorted(touched | named)}
    return {module: path for module, path in paths.items() if exists(path)}


def _is_test_module(path: str) -> bool:
    name = PurePosixPath(path).name
    return path.startswith(_TESTS) and name.startswith("test") and name.endswith(".py")


def _name_module(path: str) -> str:
    return path.removeprefix(_TESTS).removesuffix(".py").replace("/", ".")


def _locate(module: str) -> str:
    return f"{_TESTS}{module.replace('.', '/')}.py"


def find_tests(name: str, ids: Iterable[str], docstrings: Mapping[str, frozenset[str]]) -> set[str]:
    """Return which test ids, `module.Class.method`, the benchmark means by a name.

    `docstrings` are from `read_docstrings`. A class that inherits a test with a docstring gives one more id.
    """
    if wanted := _parse_name(name):
        return {test for test in ids if test == wanted}
    methods = docstrings.get(name, frozenset())
    return {test for test in ids if test.rpartition(".")[2] in methods}


def read_docstrings(sources: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the names of test methods by the first line of their docstring. `sources` are the texts of modules."""
    methods: dict[str, frozenset[str]] = {}
    for source in sources:
        for method in list_methods(source):
            if text := ast.get_docstring(method):
                line = text.partition("\n")[0].strip()
                methods[line] = methods.get(line, frozenset()) | {method.name}
    return methods


def list_changed_methods(old: str | None, new: str) -> frozenset[str]:
    """Return the names of functions that two texts of a module define differently, or that only the new one has."""
    before = {ast.unparse(method) for method in list_methods(old or "")}
    return frozenset(
        method.name for method in list_methods(new) if ast.unparse(method) not in before
    )


def list_methods(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of a module's text; none for text that is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_named(method: ast.FunctionDef | ast.AsyncFunctionDef, names: Iterable[str]) -> bool:
    """Return whether one of the benchmark's names means this method, whatever its class."""
    line = (ast.get_docstring(method) or "").partition("\n")[0].strip()
    return any(
        test.endswith(f".{method.name}") if (test := _parse_name(name)) else name == line
        for name in names
    )


def _parse_name(name: str) -> str | None:
    """Return `module.Class.method` of a name; None for a docstring. Since Python 3.11, the method stands there twice."""
    if not (match := _NAMED.fullmatch(name)):
        return None
    return f"{match[2].removesuffix(f'.{match[1]}')}.{match[1]}"
