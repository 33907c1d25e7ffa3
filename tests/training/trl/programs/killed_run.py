"""Trains by the plan in a file, and dies by SIGKILL at one point after another; run as a program, by test_killed.

Each start is a fork of this process, which has loaded the libraries already: what differs from a new start of the
command are the seconds that the imports take.
"""

import os
import signal
import sys
import warnings
from pathlib import Path

import torch

from training.plans import plan_file
from training.runs import run_folder
from training.trl import callbacks, checkpoints, grpo, train, trained_weights

POINTS = ("prepared", "step 1", "torn checkpoint", "step 3", "trained", "saved", "probed")


def _die(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(point: str) -> None:
    """Let this process die where `point` says."""
    match point:
        case "prepared":
            train._train = _die
        case "torn checkpoint":
            checkpoints.mark_complete = lambda folder, *_: (
                (folder / "optimizer.pt").write_bytes(b""),
                _die(),
            )
        case "trained":
            trained_weights.save_weights = _die
        case "saved":
            trained_weights.write_probe = _die
        case "probed":
            write = run_folder.write_file
            run_folder.write_file = lambda path, text: (
                _die() if path.name == run_folder.RESULT else write(path, text)
            )
        case _:
            _die_after(int(point.removeprefix("step ")))


def _die_after(step: int) -> None:
    told = callbacks.MetricsCallback.on_log

    def on_log(self, args, state, *more, **named):
        told(self, args, state, *more, **named)
        if state.global_step == step:
            _die()

    callbacks.MetricsCallback.on_log = on_log


def _start(job: train.TrainingJob, point: str | None) -> int:
    """How a start of its own ended, as os.waitpid tells it."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    if point:
        _arm(point)
    found = train.train(job)
    os._exit(0 if found.status == run_folder.RunStatus.FINISHED else 1)


def main(plan: str, dataset: str, killed: str, whole: str) -> None:
    """Train in `killed` with a death at each point, and in `whole` without."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    assert grpo
    wanted = plan_file.load_plan(Path(plan))
    job = train.TrainingJob(wanted, Path(dataset), Path(killed), resume=True)
    for point in POINTS:
        ended = _start(job, point)
        assert os.WIFSIGNALED(ended), (point, ended, run_folder.read_result(job.folder))
        assert os.WTERMSIG(ended) == signal.SIGKILL, point
        print(f"{point}:", [one.step for one in run_folder.read_steps(job.folder)], flush=True)  # noqa: T201
    assert _start(job, None) == 0, run_folder.read_result(job.folder)
    assert _start(train.TrainingJob(wanted, Path(dataset), Path(whole)), None) == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
