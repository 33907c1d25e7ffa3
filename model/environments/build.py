"""Build a test environment once: choose versions, install in the sandbox, check the result, keep it.

A build that was killed leaves no environment: the folder gets its name only at the end. Two processes that build the same
environment wait for each other.
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.environments.environment_cache import (
    EnvironmentCache,
    TestEnvironment,
    is_sound,
    remove_folder,
)
from model.environments.recipe import EnvironmentRecipe, compute_digest, parse_recipe
from model.environments.uv_process import (
    BuildLimits,
    PackageSources,
    UvFailed,
    UvRoom,
    choose_versions,
    compile_modules,
    install_packages,
    measure_size,
)
from model.errors import BadRecipe, NoEnvironment
from model.sandbox import walls

_SECONDS: Final = 60.0
_PUBLIC_INDEX: Final = PackageSources()
_LIMITS: Final = BuildLimits()


def build_environment(  # noqa: PLR0913 - a recipe and what the operator allows it
    recipe: EnvironmentRecipe,
    cache: Path,
    *,
    sources: PackageSources = _PUBLIC_INDEX,
    interpreter: Path | None = None,
    allow_source_builds: bool = False,
    retry: bool = False,
    limits: BuildLimits = _LIMITS,
    on_step: Callable[[str], None] = lambda _step: None,
) -> TestEnvironment:
    """Return the test environment of a recipe from the folder `cache`; build it there if it is not in it yet.

    `interpreter` is the path of a Python on this machine; None looks for the recipe's version. `retry` tries a recipe
    again that could not be built before. `on_step` gets a text at each step. The call blocks. Raises BadRecipe,
    NoEnvironment and NoSandbox.
    """
    recipe = parse_recipe(recipe)
    if recipe.source_builds and not allow_source_builds:
        raise BadRecipe(
            f"the test environment builds {', '.join(recipe.source_builds)} from source, which runs the packages' own "
            "code with a network; allow it by --allow-source-builds"
        )
    python = (interpreter or find_interpreter(recipe.python)).absolute()
    version = f"{python.resolve()} {ask_version(python)}"
    store = EnvironmentCache(cache)
    store.create_folders()
    key = _compute_key(recipe, version, sources)
    if ready := store.find(key):
        return ready
    if not retry and (refusal := store.read_refusal(key)):
        raise NoEnvironment(f"the test environment could not be built before: {refusal}")
    try:
        with _open_room(recipe, store, python, sources, limits) as room:
            return _build(recipe, store, room, key, version, on_step)
    except UvFailed as error:
        if error.is_final:
            store.refuse(key, str(error))
        raise NoEnvironment(f"the test environment cannot be built: {error}") from error


@cache
def find_interpreter(version: str) -> Path:
    """Return the path of an installed Python of that version. Nothing is downloaded. Raises NoEnvironment.

    A path that was found is kept while the process lives: uv starts every Python of the machine to answer.
    """
    words = ["python", "find", "--system", "--no-project", "--no-config", "--no-python-downloads"]
    done = subprocess.run(
        [find_uv(), *words, version],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise NoEnvironment(
            f"no Python {version} is installed on this machine; install it, or ask for another version"
        )
    return Path(done.stdout.strip())


def find_uv() -> Path:
    """Return the path of uv: the one of our own installation, else the one on PATH. Raises NoEnvironment."""
    if find_spec("uv"):
        return Path(import_module("uv").find_uv_bin())
    if system := shutil.which("uv"):
        return Path(system)
    raise NoEnvironment("uv is not installed: pip install 'r4p-bot[environments]'")


def ask_version(python: Path) -> str:
    """Return the version of the Python at that path, such as `3.11.2`. Raises NoEnvironment."""
    code = "import platform; print(platform.python_version())"
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", code],
            cwd="/",
            env={},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoEnvironment(f"{python} is no Python that starts: {error}") from error
    if not (version := done.stdout.strip()).startswith("3."):
        raise NoEnvironment(f"{python} is no Python 3; name another, or a version such as 3.11")
    return version


def _compute_key(recipe: EnvironmentRecipe, version: str, sources: PackageSources) -> str:
    """Return the hash of everything that decides what a build makes."""
    parts = [recipe.fingerprint, version, sources.index, sources.is_offline]
    parts += [str(folder.absolute()) for folder in sources.folders]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@contextmanager
def _open_room(
    recipe: EnvironmentRecipe,
    store: EnvironmentCache,
    python: Path,
    sources: PackageSources,
    limits: BuildLimits,
) -> Iterator[UvRoom]:
    """Yield the place where uv works. Code of packages must not reach the wheels of other environments."""
    runs_code = bool(recipe.source_builds)
    user = walls.pick_user() if runs_code and os.geteuid() == 0 else None
    with TemporaryDirectory(prefix="r4p-environment-") as home:
        work, own_cache = Path(home, "input"), Path(home, "uv")
        work.mkdir(mode=0o755)
        own_cache.mkdir(mode=0o755)
        if user is not None:
            os.chown(own_cache, user, user)
        folders = tuple(folder.resolve() for folder in sources.folders)
        yield UvRoom(
            uv=find_uv(),
            interpreter=python,
            work=work,
            uv_cache=own_cache if runs_code else store.uv,
            sources=replace(sources, folders=folders),
            limits=limits,
            user=user,
        )


def _build(
    recipe: EnvironmentRecipe,
    store: EnvironmentCache,
    room: UvRoom,
    key: str,
    version: str,
    on_step: Callable[[str], None],
) -> TestEnvironment:
    on_step("choosing versions")
    lock = recipe.lock if recipe.lock is not None else choose_versions(recipe, room)
    recipe = replace(recipe, lock=lock)
    digest = compute_digest(lock, version, recipe.source_builds)
    with store.lock(digest):
        if not store.is_whole(digest, room.interpreter):
            _fill(store.locate(digest), recipe, room, on_step)
            store.finish(digest, version, measure_size(store.locate(digest)))
        store.record(key, recipe, digest)
        if environment := store.find(key):
            return environment
    raise NoEnvironment(
        f"the test environment {digest} was damaged after its build; build it again"
    )


def _fill(
    folder: Path, recipe: EnvironmentRecipe, room: UvRoom, on_step: Callable[[str], None]
) -> None:
    """Build the environment beside its place, and move it there when it is whole."""
    partial = folder.with_suffix(".partial")
    for leftover in (partial, folder):  # of a build that was killed, or a link
        remove_folder(leftover)
    partial.mkdir(mode=0o755)
    if room.user is not None:
        os.chown(partial, room.user, room.user)
    # In the sandbox the folder already has its last name, which scripts and pyvenv.cfg hold.
    room = replace(room, writable=((partial, folder),))
    try:
        on_step("installing packages")
        install_packages(recipe, folder, room)
        on_step("compiling modules")
        compile_modules(folder, room)
        _take_over(partial)
        if not is_sound(partial, room.interpreter):
            raise UvFailed(
                "the code of a package replaced a part of the environment by a link", is_final=True
            )
        partial.rename(folder)
    finally:
        remove_folder(partial)


def _take_over(folder: Path) -> None:
    """Make the files of a finished build ours, and readable for the user that tests run as."""
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            path = Path(place, name)
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
            if not path.is_symlink():
                mode = stat.S_IMODE(path.stat().st_mode) & 0o755
                path.chmod(mode | 0o644 | (mode & 0o100 and 0o111))
