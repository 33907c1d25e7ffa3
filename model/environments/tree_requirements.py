"""Read what a source tree asks for: requirement files, `pyproject.toml` and `setup.cfg`. No code of the tree runs.

Lines that name the tree itself, such as `-e .`, are left out: the tests import the tree from its own folder.
"""

import configparser
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name
from pydantic import BaseModel, Field, ValidationError

from model.errors import BadRecipe
from model.workspace import safe_open
from model.workspace.paths import quote_path

_FILE_BYTES: Final = 1024**2
_MOST_FILES: Final = 20
_ITSELF: Final = re.compile(r"(-e|--editable)?[ =]*\.(\[.*\])?")
_SELF: Final = re.compile(r"\s*([A-Za-z0-9._-]+)\s*\[([^]]*)\]\s*")
_INCLUDE: Final = re.compile(r"(?:-r|--requirement)[ =]*(\S+)")
_HASH: Final = re.compile(r"\s+--hash[ =]\S+")
_COMMENT: Final = re.compile(r"(^|\s)#.*$")


def read_requirement_file(path: Path) -> tuple[str, ...]:
    """Return the requirements of a file in pip's form, and of those that it includes from its folder or below.

    Hashes are left out, for the lock brings its own. Raises BadRecipe for a file that cannot be read.
    """
    return tuple(_read_lines(path.parent, path.name, set()))


class _Project(BaseModel):
    """The table `project` of pyproject.toml."""

    name: str = ""
    dynamic: list[str] = []
    dependencies: list[str] = []
    extras: dict[str, list[str | dict[str, str]]] = Field({}, alias="optional-dependencies")


class _Pyproject(BaseModel):
    """What pyproject.toml says of dependencies."""

    project: _Project | None = None
    groups: dict[str, list[str | dict[str, str]]] = Field({}, alias="dependency-groups")


def read_project_requirements(tree: Path, extras: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what a project depends on, with its extras or dependency groups of these names. Raises BadRecipe."""
    if not tree.is_dir():
        raise BadRecipe(f"project {tree} is no folder; name a source tree")
    document = _read_pyproject(tree)
    project = document.project or _read_setup_cfg(tree)
    if project is None and not document.groups:
        raise BadRecipe(
            f"project {tree} names no packages in pyproject.toml or setup.cfg; name them by --requirement or "
            "--requirements-file"
        )
    project = project or _Project()
    if "dependencies" in project.dynamic:
        raise BadRecipe(
            f"{tree / 'pyproject.toml'} computes its dependencies by code, which is not run here; "
            "name them by --requirement or --requirements-file"
        )
    tables = {**document.groups, **project.extras}
    optional = {str(canonicalize_name(name)): items for name, items in tables.items()}
    chosen = _expand(optional, canonicalize_name(project.name), extras)
    return (*project.dependencies, *chosen)


def _expand(
    optional: Mapping[str, list[str | dict[str, str]]], own_name: str, extras: Iterable[str]
) -> Iterator[str]:
    """Yield the requirements of the extras. An extra may name further extras of the project itself."""
    waiting, seen = [canonicalize_name(name) for name in extras], set[str]()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        if extra not in optional:
            names = ", ".join(sorted(optional)) or "none"
            raise BadRecipe(f"the project has no extra {extra[:100]!r}; there are: {names[:500]}")
        for item in optional[extra]:
            if isinstance(item, dict):  # of a dependency group
                waiting.append(canonicalize_name(item.get("include-group", "")))
            elif (own := _SELF.fullmatch(item)) and canonicalize_name(own[1]) == own_name:
                waiting += [canonicalize_name(name.strip()) for name in own[2].split(",")]
            else:
                yield item


def _read_pyproject(tree: Path) -> _Pyproject:
    try:
        return _Pyproject.model_validate(tomllib.loads(_read(tree, "pyproject.toml") or ""))
    except (tomllib.TOMLDecodeError, ValidationError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise BadRecipe(f"{tree / 'pyproject.toml'} can't be read: {reason}") from error


def _read_setup_cfg(tree: Path) -> _Project | None:
    """Return what setup.cfg says of setuptools' dependencies; None where it says nothing of a package."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(_read(tree, "setup.cfg") or "")
    except configparser.Error as error:
        reason = " ".join(str(error).split())[:300]
        raise BadRecipe(f"{tree / 'setup.cfg'} can't be read: {reason}") from error
    section = "options.extras_require"
    if not any(map(parser.has_section, ("metadata", "options", section))):
        return None
    extras = parser.items(section) if parser.has_section(section) else []
    return _Project.model_validate(
        {
            "name": parser.get("metadata", "name", fallback=""),
            "dependencies": _split(parser.get("options", "install_requires", fallback="")),
            "optional-dependencies": {name: _split(text) for name, text in extras},
        }
    )


def _split(text: str) -> list[str]:
    lines = [_COMMENT.sub("", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _read_lines(folder: Path, name: str, seen: set[str]) -> Iterator[str]:
    """Yield the requirements of one file. `seen` holds the names of the files that are read already."""
    if name in seen:
        return
    seen.add(name)
    if len(seen) > _MOST_FILES:
        raise BadRecipe(f"{folder / name} is the {len(seen)}th requirement file; the most are 20")
    text = _read(folder, name)
    if text is None:
        raise BadRecipe(f"requirement file {folder / name} does not exist; name another")
    for line in _split(re.sub(r"\\\n", " ", text)):
        if include := _INCLUDE.fullmatch(line):
            yield from _read_lines(folder, os.path.normpath(Path(name).parent / include[1]), seen)
        elif not _ITSELF.fullmatch(line):
            yield _HASH.sub("", line)


def _read(folder: Path, name: str) -> str | None:
    """Return the text of a file below a folder; None if there is none. Raises BadRecipe."""
    try:
        root = os.open(folder, safe_open.FOLDER)
        try:
            content, _ = safe_open.read_file(root, name, _FILE_BYTES)
        finally:
            os.close(root)
        if len(content) > _FILE_BYTES:
            raise BadRecipe(f"{folder / name} is larger than {_FILE_BYTES:,} bytes")
        return content.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecipe(f"{quote_path(name)} is no plain text file in {folder}: {error}") from error
