"""Starting the stand-in as a child process, and ending it."""

import subprocess
import time
from pathlib import Path

from model.interpreter import module_command
from tests.github.control.client_types import StandInError

_START_SECONDS = 30.0


def launch(
    data: Path, *, time_scale: float, seed: int, port: int
) -> tuple["subprocess.Popen[bytes]", str]:
    """The process and its URL, once it listens; StandInError with the log's place if it does not."""
    data.mkdir(parents=True, exist_ok=True)
    ready = data / "url"
    ready.unlink(missing_ok=True)
    command = module_command("tests.github", "--data", str(data))
    command += ["--port", str(port), "--ready-file", str(ready)]
    command += ["--time-scale", str(time_scale), "--seed", str(seed), "--until-eof"]
    with (data / "standin.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + _START_SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.communicate()
            raise StandInError(f"the stand-in did not start; see {data / 'standin.log'}")
        time.sleep(0.01)
    return process, ready.read_text()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to stop; kill it if it has not within 5 s."""
    if process.stdin is not None:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
