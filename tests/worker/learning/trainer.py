"""A trainer of six steps that can be killed: what `r4p train run|evaluate` promises, without a model.

Reads the faults from `faults.json` beside the trainings, a JSON object: `die_at` (steps at which it is killed, each once), `exit` (a code, before
anything is written), `refuse_resume` (why it does not go on), `fail` (why the run fails), `raise_at` (a step at which it always raises a KeyError), `gate` (its outcome), `slow` (seconds of a step), `silent` (it ends well and
writes nothing).
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

STEPS = 6


def main(arguments: list[str]) -> int:
    """One command."""
    _, command, *rest = arguments
    run = Path(rest[rest.index("--run") + 1])
    faults = json.loads((run.parents[1] / "faults.json").read_text())
    return {"run": train, "evaluate": evaluate}[command](rest, faults)


def train(arguments: list[str], faults: dict) -> int:
    """`run PLAN --dataset DIR --run DIR [--resume]`."""
    run = Path(arguments[arguments.index("--run") + 1])
    if "exit" in faults:
        sys.stderr.write(f"the plan {arguments[0]} is not there\n")
        return faults["exit"]
    if "--resume" in arguments and "refuse_resume" in faults:
        sys.stderr.write(f"{faults['refuse_resume']}\n")
        return 2
    if faults.get("silent"):
        return 0
    if run.exists() and "--resume" not in arguments:
        sys.stderr.write(f"{run} holds a run already; resume it with --resume\n")
        return 2
    run.mkdir(exist_ok=True)
    with (run / "starts").open("a") as starts:
        starts.write(" ".join(arguments) + "\n")
    done = len(list(run.glob("checkpoint-*")))
    for step in range(done + 1, STEPS + 1):
        time.sleep(faults.get("slow", 0))
        with (run / "metrics.jsonl").open("a") as metrics:
            metrics.write(json.dumps({"step": step, "of": STEPS, "reward": step / 10}) + "\n")
        die(run, step, faults)
        if step == faults.get("raise_at"):
            raise KeyError("loss")
        (run / f"checkpoint-{step}").mkdir()
    status = {"status": "failed", "why": faults["fail"]} if "fail" in faults else {}
    (run / "result.json").write_text(json.dumps({"status": "finished"} | status))
    return 1 if status else 0


def evaluate(arguments: list[str], faults: dict) -> int:
    """`evaluate --run DIR --dataset DIR --engine-url URL`; `down`: how often the engine does not answer."""
    run = Path(arguments[arguments.index("--run") + 1])
    die(run, "evaluate", faults)
    if "refuse" in faults:
        sys.stderr.write(f"{faults['refuse']}\n")
        return 2
    scars = len(list(run.glob("down-*")))
    if scars < faults.get("down", 0):
        (run / f"down-{scars}").touch()
        sys.stderr.write(f"nobody answers at {arguments[arguments.index('--engine-url') + 1]}\n")
        return 5
    outcome = faults.get("gate", "passed")
    (run / "gate.json").write_text(json.dumps({"outcome": outcome, "why": f"it {outcome}"}))
    return 0


def die(run: Path, where: object, faults: dict) -> None:
    """As by kill -9, once at each place."""
    scar = run / f"died-{where}"
    if where in faults.get("die_at", []) and not scar.exists():
        scar.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if where in faults.get("always_die_at", []):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
