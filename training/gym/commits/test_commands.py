"""The test command of a tree: pytest, with what its configuration asks for and without what hides results (pure)."""

import configparser
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from model.execution.suite_command import SuiteCommand, parse_command

CONFIGURATIONS: Final = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Files that configure pytest, in the order in which pytest looks for them."""
_TAKES_VALUE: Final = ("-m", "-k", "-p", "-W", "--ignore", "--import-mode", "--doctest-glob")
_PATIENCE: Final = 8
"""Factor from a run's processor time to the time that it may take in all."""
_COMMAND: Final = "pytest -q --continue-on-collection-errors"


def build_command(files: Mapping[str, bytes]) -> str:
    """Return the test command of a tree. `files` holds its configurations by path.

    Only options that select tests are kept from `addopts`: coverage, linters and parallel runs change nothing about
    results, and need plugins.
    """
    words = _read_options(files)
    if all(_is_harmless(word) for word in words):
        return _COMMAND
    kept = []
    for index, word in enumerate(words):
        name, has_value, _ = word.partition("=")
        if name in _TAKES_VALUE:
            kept += [word] if has_value else words[index : index + 2]
    return f"{_COMMAND} -o addopts= {shlex.join(kept)}".strip()


def _is_harmless(word: str) -> bool:
    return not word.startswith(("--cov", "--flake", "--mypy", "--pycodestyle", "--pep8", "--numprocesses", "--dist", "-n", "-x", "--maxfail", "--ff", "--lf", "--sw"))  # fmt: skip


def _read_options(files: Mapping[str, bytes]) -> list[str]:
    """Return the words of `addopts` of the configuration that pytest uses."""
    for path in CONFIGURATIONS:
        text = files.get(path, b"").decode(errors="replace")
        options: object = None
        with suppress(ValueError, configparser.Error, AttributeError):
            if path == "pyproject.toml":
                options = (
                    tomllib.loads(text)
                    .get("tool", {})
                    .get("pytest", {})
                    .get("ini_options", {})
                    .get("addopts")
                )
            else:
                parser = configparser.RawConfigParser()
                parser.read_string(text)
                section = "tool:pytest" if path == "setup.cfg" else "pytest"
                options = parser.get(section, "addopts", fallback=None)
        if isinstance(options, list):
            return [str(word) for word in options]
        if isinstance(options, str):
            with suppress(ValueError):
                return shlex.split(options)
    return []


def select_tests(command: str, paths: Sequence[str], python: Path, seconds: float) -> SuiteCommand:
    """Return the command for some test files or ids only; for all tests without `paths`. Raises BadSuiteCommand.

    `seconds` limit the processor time of each process, so that a busy machine changes no result.
    """
    parsed = parse_command(command)
    limits = replace(parsed.limits, cpu_seconds=max(1, int(seconds)))
    return replace(
        parsed,
        arguments=(*parsed.arguments, *paths),
        python=python,
        seconds=seconds * _PATIENCE,
        limits=limits,
    )
