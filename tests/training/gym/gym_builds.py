"""Builds of gyms without a network."""

import sys
from pathlib import Path

from model.environments.recipe import EnvironmentRecipe
from training.gym.build import build_tasks, detect_licence, save_gym
from training.gym.commit_change import BuildSettings
from training.gym.commits.commit_limits import SIZE_LIMITS
from training.gym.commits.history import read_commits
from training.gym.environment_search import BuiltEnvironment, EnvironmentShelf


class OwnEnvironment(EnvironmentShelf):
    """Gives the Python of the tests instead of building one, which needs a network."""

    def build(self, recipe):
        """The environment that this process runs in."""
        recipe = EnvironmentRecipe(recipe.python, ("pytest==0",))
        return BuiltEnvironment("own", recipe, Path(sys.executable))


def build_gym(repository, folder, subjects=(), *, parallel=None, **changes):
    """Build a gym of the commits with these subjects; of all commits without subjects."""
    commits = read_commits(repository, "main", None, None)
    chosen = [commit for commit in commits if not subjects or commit.subject in subjects]
    licence = detect_licence(repository, "main")
    defaults = {
        "runs": 1,
        "has_suite": False,
        "has_candidates": False,
        "limits": SIZE_LIMITS,
    }
    values = defaults | changes
    shelf = OwnEnvironment(folder)
    settings = BuildSettings(
        repository,
        "a/doubling",
        licence,
        shelf=shelf,
        pythons=("3.11",),
        history=tuple(commits),
        **values,
    )
    built = build_tasks(settings, chosen, parallel=parallel)
    save_gym(folder / "gym", "doubling", repository, built)
    return folder / "gym", built
