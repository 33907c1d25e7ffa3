"""A folder of test environments, as `r4p environments build` leaves it, with one that holds no package."""

import sys
import venv
from pathlib import Path

from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.environments.recipe import EnvironmentRecipe

NAME = "plain"


def build_plain_environment(folder: Path) -> Path:
    """Make the environment `plain` with the Python of these tests, and return the folder."""
    cache, digest = EnvironmentCache(folder), "0" * 40
    cache.create_folders()
    venv.create(cache.locate(digest), with_pip=False, symlinks=True)
    python = Path(sys.executable).resolve()
    interpreter = f"{python} {sys.version.split()[0]}"
    cache.finish(digest, interpreter, 1)
    recipe = EnvironmentRecipe(f"{sys.version_info.major}.{sys.version_info.minor}", (), lock=())
    place = cache.locate(digest)
    cache.assign(NAME, TestEnvironment(recipe, place, digest, interpreter, 1))
    return folder
