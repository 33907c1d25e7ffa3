"""The operator's folder of test environments: find, list, remove, and remember what cannot be built.

`environments/DIGEST` is a virtual environment, and `DIGEST.json` beside it says that it is whole. `requests/` leads from a
recipe to it, or says why there is none. `names/` does so from names, and `uv/` holds the wheels that uv keeps.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from model import typed_json
from model.environments.recipe import EnvironmentRecipe, check_name
from model.errors import NoEnvironment

DEFAULT_CACHE: Final = Path(".cache") / "r4p" / "environments"
"""The folder below the operator's home that commands use."""
SCHEMA: Final = "r4p.environment/1"


@dataclass(frozen=True, slots=True)
class TestEnvironment:
    """A virtual environment that is whole."""

    __test__ = False  # pytest would collect a class of this name

    recipe: EnvironmentRecipe
    """Its recipe, with the lock."""
    folder: Path
    digest: str
    """Hash of the lock and the Python. Environments with the same digest are the same folder."""
    interpreter: str
    """Path and version of the Python on the machine that it uses."""
    bytes: int
    """Size on the disk."""

    @property
    def python(self) -> Path:
        """The Python that sees the environment's packages."""
        return self.folder / "bin" / "python"


class EnvironmentCache:
    """A folder of test environments. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        self.uv = self.folder / "uv"

    def locate(self, digest: str) -> Path:
        """Return where the environment of that digest lies, or would."""
        return self.folder / "environments" / digest

    def create_folders(self) -> None:
        """Create what is missing, readable for the users that tests run as."""
        for name in ("environments", "names", "requests", "uv"):
            (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o755)

    @contextmanager
    def lock(self, digest: str) -> Iterator[None]:
        """Wait until no other process builds or removes the environment of that digest, and keep others out."""
        with (self.folder / "environments" / f"{digest}.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def open(self, name: str) -> TestEnvironment:
        """Return the environment of that name. Raises NoEnvironment and BadRecipe."""
        path = self._locate_name(name)
        if self._read(path) is None:
            names = ", ".join(self.list_names()[:20]) or "none"
            raise NoEnvironment(
                f"no test environment is called {name!r} in {self.folder}; there are: {names}. "
                "Build it by `r4p environments build`"
            )
        if environment := self.find_name(name):
            return environment
        raise NoEnvironment(
            f"test environment {name} is not whole, or its Python is gone; build it again by "
            "`r4p environments build`"
        )

    def find_name(self, name: str) -> TestEnvironment | None:
        """Return the environment of that name; None if there is none, or if it is not whole. Raises BadRecipe."""
        item = self._read(self._locate_name(name))
        return self._open(item) if item else None

    def find(self, key: str) -> TestEnvironment | None:
        """Return the environment that an equal request led to; None if there is none."""
        item = self._read(self._locate_request(key))
        return self._open(item) if item else None

    def read_refusal(self, key: str) -> str | None:
        """Return why an equal request could not be fulfilled before; None if it was not tried."""
        item = self._read(self._locate_request(key)) or {}
        reason = item.get("refusal")
        return reason if isinstance(reason, str) else None

    def list_names(self) -> list[str]:
        """Return the names of all environments, in order."""
        return sorted(path.stem for path in (self.folder / "names").glob("[!.]*.json"))

    def is_whole(self, digest: str, interpreter: Path) -> bool:
        """Return whether an environment was built to its end, and its Python is still the one of the machine."""
        folder = self.locate(digest)
        return self._read(folder.with_suffix(".json")) is not None and is_sound(folder, interpreter)

    def finish(self, digest: str, interpreter: str, size: int) -> None:
        """Record that the folder of that digest is whole."""
        self._write(
            self.locate(digest).with_suffix(".json"), {"interpreter": interpreter, "bytes": size}
        )

    def record(self, key: str, recipe: EnvironmentRecipe, digest: str) -> None:
        """Remember which environment a request led to. The recipe has its lock."""
        item = {"digest": digest, "recipe": typed_json.dump(recipe)}
        self._write(self._locate_request(key), item)

    def refuse(self, key: str, reason: str) -> None:
        """Remember why a request cannot be fulfilled."""
        self._write(self._locate_request(key), {"refusal": reason})

    def assign(self, name: str, environment: TestEnvironment) -> None:
        """Give an environment a name, which may have led elsewhere before. Raises BadRecipe."""
        recipe = typed_json.dump(environment.recipe)
        self._write(self._locate_name(name), {"digest": environment.digest, "recipe": recipe})

    def remove(self, name: str) -> None:
        """Remove a name, and its environment when no other name leads to it. Raises NoEnvironment and BadRecipe."""
        path = self._locate_name(name)
        item = self._read(path)
        if item is None:
            raise NoEnvironment(f"no test environment is called {name!r} in {self.folder}")
        path.unlink()
        if item.get("digest") not in self._list_used():
            self._clear(str(item.get("digest")))

    def remove_unnamed(self) -> None:
        """Remove the environments that no name leads to, and what is left of builds that were killed."""
        folder, used = self.folder / "environments", self._list_used()
        for digest in {path.name.partition(".")[0] for path in folder.glob("*")} - used:
            self._clear(digest)

    def _list_used(self) -> set[str]:
        """Return the digests that names lead to."""
        items = (self._read(self._locate_name(name)) for name in self.list_names())
        return {str(item.get("digest")) for item in items if item}

    def _clear(self, digest: str) -> None:
        folder = self.locate(digest)
        with self.lock(digest):
            folder.with_suffix(".json").unlink(missing_ok=True)
            remove_folder(folder.with_suffix(".partial"))
            remove_folder(folder)

    def _locate_name(self, name: str) -> Path:
        return self.folder / "names" / f"{check_name(name)}.json"

    def _locate_request(self, key: str) -> Path:
        return self.folder / "requests" / f"{key}.json"

    def _open(self, item: dict[str, Any]) -> TestEnvironment | None:
        """Return the environment that a record names, if it is whole."""
        try:
            recipe = typed_json.read(EnvironmentRecipe, item["recipe"])
            digest, folder = str(item["digest"]), self.locate(str(item["digest"]))
            record = self._read(folder.with_suffix(".json")) or {}
            interpreter, size = str(record["interpreter"]), int(record["bytes"])
        except (KeyError, ValueError, TypeError):
            return None
        if not self.is_whole(digest, Path(interpreter.rpartition(" ")[0])):
            return None
        return TestEnvironment(recipe, folder, digest, interpreter, size)

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        """Return a document of ours; None without one, or with one that is damaged."""
        try:
            item = None if path.is_symlink() else json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return item if isinstance(item, dict) and item.get("schema") == SCHEMA else None

    @staticmethod
    def _write(path: Path, document: dict[str, Any]) -> None:
        """Write a document so that a reader sees all of it or none."""
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        text = json.dumps({"schema": SCHEMA, **document}, indent=1, sort_keys=True)
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)


def is_sound(folder: Path, interpreter: Path) -> bool:
    """Return whether the parts of a virtual environment lie in it, and its Python is that of the machine.

    The tests' sandbox mounts these parts. So a link that leads elsewhere would show a folder of the host to a test.
    """
    parts = (folder, folder / "bin", folder / "lib")
    has_links = any(part.is_symlink() or not part.is_dir() for part in parts)
    lib64, settings = folder / "lib64", folder / "pyvenv.cfg"
    leads_out = lib64.is_symlink() and str(lib64.readlink()) != "lib"
    is_file = settings.is_file() and not settings.is_symlink()
    python = (folder / "bin" / "python").resolve()
    return is_file and not has_links and not leads_out and python == interpreter.resolve()


def remove_folder(folder: Path) -> None:
    """Remove a folder with all it holds, or a link to one without following it."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
