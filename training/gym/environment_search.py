"""Search a test environment for a commit: declared packages, versions of pytest and Pythons, until the tests run.

R2E-Gym (appendix A) tries dependency configurations one after the other. Here the date of the package index is rounded up
to the end of the commit's year, and the order depends on the commit alone. So few environments are built, and the same
history gives the same ones.
"""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Final

from model.environments.build import build_environment, find_interpreter
from model.environments.recipe import EnvironmentRecipe
from model.errors import BadRecipe, NoEnvironment
from training.gym.commits.declared_requirements import list_own_requirements, list_test_requirements

PYTEST_RELEASES: Final = ("pytest>=9,<10", "pytest>=7.4,<8", "pytest>=6.2,<7")
OWN_PYTHON: Final = ".".join(platform.python_version_tuple()[:2])
_RELEASES: Final = ("3.13", "3.12", "3.11", "3.10", "3.9")
"""Releases of Python that the reporter of test runs supports, the newest first."""


@dataclass(frozen=True, slots=True)
class BuiltEnvironment:
    """A test environment that a task can name."""

    name: str
    recipe: EnvironmentRecipe
    """The recipe with the lock."""
    python: Path


def list_recipes(
    files: Mapping[str, bytes], date: str, pythons: Sequence[str]
) -> Iterator[EnvironmentRecipe]:
    """Yield the recipes to try for a tree, ordered by the sum of each choice's rank.

    So a second Python or newer packages are tried early, because a build tries only a few recipes. `files` holds the
    tree's declarations of requirements by path, `date` is the commit's ISO date, and `pythons` are the releases on this
    machine, the preferred one first. Packages of the commit's year come before newer ones.
    """
    variants = tuple(dict.fromkeys((list_test_requirements(files), list_own_requirements(files))))
    choices = (pythons, (f"{int(date[:4]) + 1}-01-01", None), PYTEST_RELEASES, variants)
    ranks = product(*(range(len(values)) for values in choices))
    for python_rank, newest_rank, pytest_rank, variant_rank in sorted(ranks, key=sum):
        requirements = (PYTEST_RELEASES[pytest_rank], *variants[variant_rank])
        yield EnvironmentRecipe(pythons[python_rank], requirements, choices[1][newest_rank])


def list_pythons() -> tuple[str, ...]:
    """Return the releases of Python on this machine, the one of this process first."""
    present = []
    for release in _RELEASES:
        try:
            find_interpreter(release)
        except NoEnvironment:
            continue
        present.append(release)
    return tuple(sorted(present, key=lambda release: release != OWN_PYTHON))


class EnvironmentShelf:
    """Builds each recipe at most once, in the operator's folder `cache`. Threads may share it; they build one recipe at a time."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._environments: dict[EnvironmentRecipe, BuiltEnvironment | None] = {}
        self._lock = Lock()

    def build(self, recipe: EnvironmentRecipe) -> BuiltEnvironment | None:
        """Return the environment of a recipe; None if it cannot be built. Raises NoSandbox."""
        with self._lock:
            if recipe not in self._environments:
                self._environments[recipe] = self._build(recipe)
            return self._environments[recipe]

    def _build(self, recipe: EnvironmentRecipe) -> BuiltEnvironment | None:
        try:
            environment = build_environment(recipe, self._cache)
        except (NoEnvironment, BadRecipe):
            return None
        pinned = pin_recipe(recipe.python, environment.recipe.lock or ())
        return BuiltEnvironment(name_environment(pinned), pinned, environment.python)


def pin_recipe(python: str, lock: tuple[str, ...]) -> EnvironmentRecipe:
    """Return the recipe that builds what `lock` holds, whatever was asked for when its versions were chosen."""
    requirements = tuple(line.partition(" ")[0] for line in lock)
    return EnvironmentRecipe(python, requirements, lock=lock)


def name_environment(recipe: EnvironmentRecipe) -> str:
    """Return the name of a pinned recipe's environment in a gym: its Python, and a hash of its packages."""
    text = json.dumps(recipe.requirements)
    return f"python{recipe.python}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
