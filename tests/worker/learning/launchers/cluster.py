"""Stand-ins for schedulers' commands, which run what they are given: `python cluster.py FOLDER COMMAND …`.

FOLDER holds a JSON file for each job. What they take and say is as the commands' manuals have it; a file `down` has them
refuse, `sbatch.down` that one alone, a file `forgets` has SLURM's controller forget jobs that have ended.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

# `app.settings` would take each command ten times as long to start
ENVIRONMENT = dict(os.environ)  # noqa: TID251


def main(folder: Path, command: str, arguments: list[str]) -> int:
    """One command of a scheduler; what it could pass on is noted."""
    if command != "watch":
        with (folder / "known").open("a") as known:
            known.write("\n".join(ENVIRONMENT) + "\n")
    for down in (folder / "down", folder / f"{command}.down"):
        if down.exists():
            return refuse(down.read_text())
    return COMMANDS[command](folder, arguments)


def refuse(why: str) -> int:
    """As a command that could not."""
    sys.stderr.write(why + "\n")
    return 1


def option(arguments: list[str], name: str) -> str | None:
    """`--name=value`."""
    return next((one.partition("=")[2] for one in arguments if one.startswith(f"{name}=")), None)


def jobs(folder: Path) -> list[Path]:
    """The newest last."""
    return sorted(folder.glob("job-*.json"), key=lambda path: int(path.stem.split("-", 1)[1]))


def list_jobs_named(folder: Path, name: str) -> list[Path]:
    """Jobs of one name."""
    return [path for path in jobs(folder) if json.loads(path.read_text())["name"] == name]


def begin(folder: Path, name: str, command: list[str], output: str, given: str = "") -> int:
    """Run it beside us, as a scheduler's daemon would; returns its number."""
    number = len(jobs(folder)) + 1
    path = folder / f"job-{number}.json"
    path.write_text(json.dumps({"name": name, "code": None}))
    watching = [sys.executable, __file__, str(folder), "watch", str(path), output, *command]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    watcher = subprocess.Popen(
        watching, stdin=subprocess.PIPE, start_new_session=True, text=True, **quiet
    )
    watcher.stdin.write(given)
    watcher.stdin.close()
    return number


def watch(folder: Path, arguments: list[str]) -> int:
    """Until it ends: PATH OUTPUT COMMAND…"""
    path, output, *command = arguments
    with (Path(output) if output else Path(os.devnull)).open("ab") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        (folder / f"{Path(path).stem}.pid").write_text(str(child.pid))
        code = child.wait()
    note = json.loads(Path(path).read_text())
    Path(path).with_suffix(".new").write_text(json.dumps(note | {"code": code}))
    Path(path).with_suffix(".new").rename(path)
    return 0


def end(folder: Path, path: Path) -> None:
    """Have one end."""
    if json.loads(path.read_text())["code"] is None:
        os.kill(int((folder / f"{path.stem}.pid").read_text()), signal.SIGTERM)


def sbatch(folder: Path, arguments: list[str]) -> int:
    """Takes the script on its input."""
    if "--partition=nowhere" in arguments:
        return refuse("sbatch: error: invalid partition specified: nowhere")
    name, output = option(arguments, "--job-name"), option(arguments, "--output")
    bare = ["/usr/bin/env", "-i", f"PATH={ENVIRONMENT['PATH']}"]
    sent = bare if option(arguments, "--export") == "NONE" else []
    number = begin(folder, name, [*sent, "/bin/sh", "-s"], output, sys.stdin.read())
    sys.stdout.write(f"{number}\n")
    return 0


def state(path: Path) -> str:
    """As SLURM calls it."""
    code = json.loads(path.read_text())["code"]
    return "RUNNING" if code is None else "FAILED" if code else "COMPLETED"


def squeue(folder: Path, arguments: list[str]) -> int:
    """With --format="%T %i"."""
    for path in list_jobs_named(folder, option(arguments, "--name")):
        if state(path) == "RUNNING" or not (folder / "forgets").exists():
            sys.stdout.write(f"{state(path)} {path.stem.split('-')[1]}\n")
    return 0


def sacct(folder: Path, arguments: list[str]) -> int:
    """With --format=State."""
    for path in list_jobs_named(folder, option(arguments, "--name")):
        sys.stdout.write(state(path) + "\n")
    return 0


def scancel(folder: Path, arguments: list[str]) -> int:
    """By name."""
    for path in list_jobs_named(folder, option(arguments, "--name")):
        end(folder, path)
    return 0


def kubectl(folder: Path, arguments: list[str]) -> int:
    """`create`, `get job NAME`, `delete job NAME`."""
    if arguments[0] == "create":
        return create(folder, json.load(sys.stdin))
    name = arguments[2]
    found = list_jobs_named(folder, name)
    if arguments[0] == "delete":
        for path in found:
            end(folder, path)
        return 0
    if not found:
        return refuse(f'Error from server (NotFound): jobs.batch "{name}" not found')
    code = json.loads(found[-1].read_text())["code"]
    ended = {"type": "Failed", "reason": "BackoffLimitExceeded"} if code else {"type": "Complete"}
    status = (
        {"active": 1, "ready": 1} if code is None else {"conditions": [ended | {"status": "True"}]}
    )
    json.dump({"kind": "Job", "metadata": {"name": name}, "status": status}, sys.stdout)
    return 0


def create(folder: Path, manifest: dict) -> int:
    """A Job; its pod knows nothing but what the manifest tells it, and PATH."""
    name = manifest["metadata"]["name"]
    if list_jobs_named(folder, name):
        return refuse(f'Error from server (AlreadyExists): jobs.batch "{name}" already exists')
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    path = f"{folder.parent / 'bin'}:{os.defpath}"
    settings = [f"PATH={path}", *(f"{one['name']}={one['value']}" for one in container["env"])]
    begin(folder, name, ["/usr/bin/env", "-i", *settings, *container["command"]], "")
    sys.stdout.write(f"job.batch/{name} created\n")
    return 0


def ray(folder: Path, arguments: list[str]) -> int:
    """`job submit|status|stop`."""
    _, verb, *rest = arguments
    if verb == "submit":
        return submit(folder, rest)
    name = rest[-1]
    found = list_jobs_named(folder, name)
    if not found:
        return refuse(
            f"RuntimeError: Request failed with status code 404: Job {name} does not exist."
        )
    if verb == "stop":
        end(folder, found[-1])
        return 0
    code = json.loads(found[-1].read_text())["code"]
    said = {
        None: f"Status for job '{name}': RUNNING\nStatus message: Job is currently running.",
        0: f"---\nJob '{name}' succeeded\n---",
    }
    failed = f"---\nJob '{name}' failed\n---\nStatus message: exit code {code}, last logs:\nJob 'x' succeeded"
    sys.stdout.write(f"Job submission server address: http://head:8265\n{said.get(code, failed)}\n")
    return 0


def submit(folder: Path, arguments: list[str]) -> int:
    """The entrypoint is joined as Ray does, and given to a shell."""
    name = option(arguments, "--submission-id")
    if list_jobs_named(folder, name):
        return refuse(f"RuntimeError: Job with submission_id {name} already exists.")
    told = json.loads(option(arguments, "--runtime-env-json"))["env_vars"]
    entrypoint = subprocess.list2cmdline(arguments[arguments.index("--") + 1 :])
    settings = [f"{key}={value}" for key, value in told.items()]
    begin(folder, name, ["/usr/bin/env", *settings, "/bin/sh", "-c", entrypoint], "")
    sys.stdout.write(f"Job '{name}' submitted successfully\n")
    return 0


COMMANDS = {
    "watch": watch,
    "sbatch": sbatch,
    "squeue": squeue,
    "sacct": sacct,
    "scancel": scancel,
    "kubectl": kubectl,
    "ray": ray,
}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
