"""Run uv in the sandbox: choose versions, make a virtual environment, install packages, compile their modules.

Only these runs have a network. Wheels are unpacked and none of their code runs. A package that is built from source runs
its own code: as another user where we are root, with a cache of its own, and with nothing of the host to read.
"""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.environments.recipe import EnvironmentRecipe, parse_lock
from model.errors import NoEnvironment
from model.prompts.untrusted import escape_invisible
from model.sandbox import limits, walls
from model.sandbox.limits import ResourceLimits
from model.sandbox.sandboxed_process import ProcessEnded, SandboxedProcess
from model.sandbox.walls import SCRATCH, NoSandbox, Walls

_INPUT, _CACHE = Path("/input"), Path("/uv-cache")
_LIMITS: Final = ResourceLimits(
    memory_bytes=16 * 1024**3,
    file_bytes=2 * 1024**3,
    files=4_096,
    processes=512,
    cpu_seconds=1_800,
)
"""uv reserves much address space that it never uses."""
_SECRETS_OF_NOBODY: Final = (
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
)
"""What a program needs of the host to use its network. Nothing of it is secret."""
_FINAL: Final = re.compile(
    r"no solution found|failed to build|unsatisfiable|hash mismatch|no usable wheels|requires-python",
    re.IGNORECASE,
)
"""What uv writes about a failure that another attempt would meet again."""
_PASSING: Final = re.compile(
    r"failed to fetch|dns error|timed out|error sending request|connection (reset|refused|closed)"
    r"|network is unreachable|status (5\d\d|429)|no space left|http client",
    re.IGNORECASE,
)
"""What uv writes when the network or the disk is the reason."""
_LOOK_SECONDS: Final = 0.5
_LOCK_LINE: Final = 1024**2


class UvFailed(NoEnvironment):
    """uv could not do its work. The message holds the last lines that it wrote."""

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__(message)
        self.is_final = is_final
        """Whether the same attempt would fail again."""


@dataclass(frozen=True, slots=True)
class PackageSources:
    """Where uv takes packages from."""

    index: str | None = None
    """URL of a package index; None takes uv's own choice, the public one."""
    folders: tuple[Path, ...] = ()
    """Folders with wheels on this machine."""
    is_offline: bool = False
    """Whether the folders are all there is. Then not even uv has a network."""


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """What the build of one environment may use."""

    seconds: float = 600.0
    """Wall-clock seconds of each of its four steps."""
    disk_bytes: int = 8 * 1024**3
    """Bytes that it writes on the disk. The size is looked at twice a second."""


@dataclass(frozen=True, slots=True)
class UvRoom:
    """Where uv works: folders of the host, and the user that it runs as."""

    uv: Path
    interpreter: Path
    """The Python that is installed on the machine, and that the environment uses."""
    work: Path
    """A folder for its input."""
    uv_cache: Path
    sources: PackageSources
    limits: BuildLimits
    user: int | None = None
    """Number of the user that runs strangers' code; None where none of it runs."""
    writable: tuple[tuple[Path, Path], ...] = ()
    """Folders that it writes beside its cache, as (path on the host, path inside)."""


def choose_versions(recipe: EnvironmentRecipe, room: UvRoom) -> tuple[str, ...]:
    """Return the lock of a recipe: all packages with version and hashes. Raises UvFailed and NoSandbox."""
    words = ["pip", "compile", *_list_source_options(recipe, room.sources), "--generate-hashes"]
    words += ["--no-header", "--no-annotate", "--python", str(room.interpreter)]
    if recipe.exclude_newer is not None:
        words += ["--exclude-newer", recipe.exclude_newer]
    name = _write_input(room, "requirements.in", recipe.requirements)
    return parse_lock(_run_uv([*words, str(name)], room))


def install_packages(recipe: EnvironmentRecipe, folder: Path, room: UvRoom) -> None:
    """Make the virtual environment `folder` with the packages of the recipe's lock. Raises UvFailed and NoSandbox."""
    name = _write_input(room, "lock.txt", recipe.lock or ())
    _run_uv(["venv", "--no-project", "--allow-existing", "--python", str(room.interpreter), str(folder)], room)  # fmt: skip
    words = ["pip", "sync", *_list_source_options(recipe, room.sources), "--require-hashes"]
    words += ["--allow-empty-requirements", "--link-mode", "copy"]
    _run_uv([*words, "--python", str(folder / "bin" / "python"), str(name)], room)


def compile_modules(folder: Path, room: UvRoom) -> None:
    """Compile all modules of a virtual environment, so that they load fast from a folder that nobody writes.

    `-S` leaves out the `.pth` files, so no code of a package runs. Modules for other Pythons may not compile.
    """
    mode = ("--invalidation-mode", "unchecked-hash")
    program = [str(room.interpreter), "-I", "-S", "-m", "compileall", "-qq", *mode, str(folder)]
    _run(program, room, has_network=False)


def _list_source_options(recipe: EnvironmentRecipe, sources: PackageSources) -> Iterator[str]:
    yield from ("--only-binary", ":all:")
    for package in recipe.source_builds:
        yield from ("--no-binary", package)
    if sources.index is not None:
        yield from ("--default-index", sources.index)
    if sources.is_offline:
        yield "--no-index"
    for number, _ in enumerate(sources.folders):
        yield from ("--find-links", f"/links/{number}")


def _write_input(room: UvRoom, name: str, lines: Sequence[str]) -> Path:
    """Write a file of the input, and return its path in the sandbox."""
    (room.work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return _INPUT / name


def _run_uv(arguments: Sequence[str], room: UvRoom) -> str:
    options = [
        "--no-config",
        "--no-progress",
        "--no-python-downloads",
        "--color",
        "never",
        "--quiet",
    ]
    options += ["--offline"] if room.sources.is_offline else ["--system-certs"]
    program = [str(room.uv), *arguments, *options]
    code, output, complaint = _run(program, room, has_network=not room.sources.is_offline)
    if code:
        raise UvFailed(complaint, is_final=_is_final(complaint))
    return output


def _run(program: Sequence[str], room: UvRoom, *, has_network: bool) -> tuple[int, str, str]:
    """Run a program in the sandbox; return its exit code, its output and the last lines of its complaint."""
    program = limits.build_command(_LIMITS, program)
    if room.user is not None:
        program = walls.leave_root(program, room.user)
    watched = (room.uv_cache, *(host for host, _ in room.writable))
    with walls.open_filter() as handle:
        command = walls.build_command(_build_walls(room, handle, has_network=has_network), program)
        seconds = room.limits.seconds
        try:
            with (
                SandboxedProcess(
                    command, seconds, _LOCK_LINE, handles=(handle,), name="uv"
                ) as process,
                _limit_size(process, watched, room.limits.disk_bytes) as has_passed,
            ):
                output = b"".join(process.read_lines()).decode(errors="replace")
                code = process.wait_for_exit()
        except ProcessEnded as error:
            raise UvFailed(str(error), is_final=False) from error
    complaint = _shorten(process.read_errors())
    if has_passed.is_set():
        text = f"the packages need over {room.limits.disk_bytes:,} bytes on the disk"
        raise UvFailed(text, is_final=True)
    if complaint.startswith("bwrap:"):
        raise NoSandbox(f"uv cannot be started in bubblewrap ({complaint}): {walls.FIX}")
    return code, output, complaint


def _build_walls(room: UvRoom, handle: int, *, has_network: bool) -> Walls:
    readable = [(room.uv, room.uv), (room.work, _INPUT)]
    readable += [(path, path) for path in walls.list_python_folders(room.interpreter)]
    readable += [(path, Path(f"/links/{n}")) for n, path in enumerate(room.sources.folders)]
    if has_network:
        hosts = [Path(path) for path in _SECRETS_OF_NOBODY if Path(path).exists()]
        readable += [(path.resolve(), path) for path in hosts]
        certificates = Path("/usr/share/ca-certificates")  # the links of /etc/ssl/certs lead there
        readable += [(certificates, certificates)] if certificates.exists() else []
    return Walls(
        tuple(readable),
        scratch_bytes=1024**3,
        writable=((room.uv_cache, _CACHE), *room.writable),
        has_network=has_network,
        has_processes=True,
        leaves_root=room.user is not None,
        variables={
            "HOME": str(SCRATCH),
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "UV_CACHE_DIR": str(_CACHE),
        },
        filter_handle=handle,
    )


@contextmanager
def _limit_size(
    process: SandboxedProcess, folders: Sequence[Path], most: int
) -> Iterator[threading.Event]:
    """Kill the process when it has written more than `most` bytes into the folders; the event tells of it."""
    has_passed, is_over = threading.Event(), threading.Event()
    before = sum(map(measure_size, folders))

    def watch() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            if sum(map(measure_size, folders)) - before > most:
                has_passed.set()
                process.kill()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield has_passed
    finally:
        is_over.set()
        thread.join()


def measure_size(folder: Path) -> int:
    """Return the bytes of the files of a folder on the disk, without following links."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118 - hot
            except FileNotFoundError:
                continue  # uv has just moved it
    return total


def _is_final(complaint: str) -> bool:
    return bool(_FINAL.search(complaint)) and not _PASSING.search(complaint)


def _shorten(complaint: str) -> str:
    """Return the last lines of uv's complaint as one line, safe to show."""
    lines = [line.strip(" ×╰─▶│├") for line in complaint.splitlines()]
    text = " ".join(line for line in lines[-12:] if line)
    return escape_invisible(text if len(text) < 600 else f"{text[:200]} … {text[-400:]}")
