"""Launchers that ask the stand-ins of cluster.py."""

from tests.services import wait_for
from tests.worker.learning.trainings import PROGRAM
from worker.learning.launchers.kubernetes import Kubernetes
from worker.learning.launchers.ray import Ray
from worker.learning.launchers.slurm import Slurm
from worker.learning.launchers.task import Phase

SCHEDULERS = ("slurm", "kubernetes", "ray")


def build_launcher(name, tmp_path):
    """One that is asked for 8 GPUs."""
    return {
        "slurm": Slurm(8, "--partition=gpu --time=1-0", PROGRAM),
        "kubernetes": Kubernetes("r4p:1", "trainings", tmp_path / "trainings", "learn", 8),
        "ray": Ray("http://head:8265", 8),
    }[name]


def executable(path, command):
    """A program that becomes another one."""
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)


def wait_for_end(launcher, task):
    """How it ended, once it did."""
    wait_for(lambda: launcher.look(task).phase is Phase.ENDED)
    return launcher.look(task)
