"""Other people's programs, each in a virtual environment of its own outside the checkout."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_INSTALL_SECONDS = 900


class NotRun(Exception):
    """A peer can't be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A pinned release, and the oldest Python it runs on."""

    name: str
    release: str
    beside: tuple[str, ...] = ()
    """What else it needs, as pip takes it."""
    python: tuple[int, int] = (3, 11)

    @property
    def requirement(self) -> str:
        """As pip takes it."""
        return f"{self.name}=={self.release}"


def interpreter(peer: Peer, peers: Path) -> Path:
    """The Python that has the peer; installs it once. Raises NotRun."""
    home = peers / f"{peer.name}-{peer.release}"
    python, marker = home / "bin" / "python", home / ".installed"
    if marker.exists():
        return python
    creator = _python(peer)
    shutil.rmtree(home, ignore_errors=True)
    peers.mkdir(parents=True, exist_ok=True)
    _run([str(creator), "-m", "venv", str(home)], peer)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    _run([*pip, peer.requirement, *peer.beside], peer)
    marker.touch()
    return python


def _run(command: list[str], peer: Peer) -> None:
    try:
        subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_INSTALL_SECONDS
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotRun(f"{peer.requirement} could not be installed: {last}") from error
    except subprocess.TimeoutExpired as error:
        raise NotRun(f"{peer.requirement} was not installed within {_INSTALL_SECONDS} s") from error


def _python(peer: Peer) -> Path:
    names = [f"python3.{minor}" for minor in range(peer.python[1], 15)]
    found = [Path(sys.executable), *(Path(path) for name in names if (path := shutil.which(name)))]
    found += sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))
    for python in found:
        if _is_at_least(python, peer.python):
            return python
    wanted = ".".join(map(str, peer.python))
    raise NotRun(f"{peer.requirement} needs Python {wanted} or newer, and there is none")


def _is_at_least(python: Path, wanted: tuple[int, int]) -> bool:
    code = f"import sys; sys.exit(sys.version_info < {wanted})"
    asked = subprocess.run([str(python), "-c", code], capture_output=True, check=False)
    return asked.returncode == 0
