"""The shipped source as the architecture tests read it: modules, folders, imports, names."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "worker", "model", "training")
MODULES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
REVISIONS = sorted((ROOT / "migrations").rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "deploy" / "description.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def relative(path: Path) -> str:
    """The path from the root of the repository."""
    return str(path.relative_to(ROOT))


@cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def list_functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def list_modules(folder: Path) -> list[Path]:
    """The modules that lie directly in a folder, without `__init__` and `__main__`."""
    return [path for path in folder.glob("*.py") if not path.stem.startswith("__")]


def list_entries(folder: Path) -> list[Path]:
    """The modules and the rooms that lie directly in a folder."""
    return [*list_modules(folder), *(room for room in FOLDERS if room.parent == folder)]


def count_lines(path: Path) -> int:
    """The number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def list_imports(path: Path, module: str) -> list[str]:
    """The names that a file imports from one module, anywhere in it."""
    return [
        alias.name
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and node.module == module
        for alias in node.names
    ]


def _list_modules_imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _get_module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@cache
def count_importers() -> dict[Path, int]:
    """For each shipped module, how many other shipped modules import it."""
    places = {_get_module_name(path): path for path in MODULES}
    importers: dict[Path, set[Path]] = defaultdict(set)
    for path in MODULES:
        for name in _list_modules_imported_by(path):
            if name in places:
                importers[places[name]].add(path)
    return {path: len(importers[path] - {path}) for path in MODULES}
