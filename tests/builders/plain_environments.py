"""A folder of test environments, as `r4p environments build` leaves it, with one that needs no network."""

import shutil
import sys
import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.environments.recipe import EnvironmentRecipe

NAME = "plain"


def build_plain_environment(folder: Path, name: str = NAME, packages: Iterable[str] = ()) -> Path:
    """Make the environment `name` with this process's Python and copies of its `packages`, and return the folder."""
    cache, digest = EnvironmentCache(folder), "0" * 40
    cache.create_folders()
    venv.create(cache.locate(digest), with_pip=False, symlinks=True)
    for package in packages:
        _copy_package(package, cache.locate(digest))
    python = Path(sys.executable).resolve()
    interpreter = f"{python} {sys.version.split()[0]}"
    cache.finish(digest, interpreter, 1)
    recipe = EnvironmentRecipe(f"{sys.version_info.major}.{sys.version_info.minor}", (), lock=())
    place = cache.locate(digest)
    cache.assign(name, TestEnvironment(recipe, place, digest, interpreter, 1))
    return folder


def _copy_package(name: str, environment: Path) -> None:
    site = sysconfig.get_path("purelib", vars={"base": str(environment)})
    package = distribution(name)
    for path in package.files or ():
        if ".." not in path.parts and "__pycache__" not in path.parts:  # its commands stay behind
            target = Path(site) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package.locate_file(path), target)
