"""A child ends with its parent, and a process hides its memory before it reads a setting."""

import os
import signal
import subprocess
import sys

import psutil

from app.operator.processes import FIT
from app.settings import build_child_environment
from model.sandbox.bubblewrap import find
from tests.services import wait_for

CHILD = """
import time
from app.process_guard import end_with_parent
end_with_parent()
print("runs", flush=True)
"""
PARENT = """
import os, subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", CODE], env={**os.environ, "R4P_END_WITH_PARENT": str(os.getpid())}
)
print(child.pid, flush=True)
sys.exit(child.wait())
"""
WATCH = """
import importlib.abc, os, runpy, sys

class Watcher(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "app.web.main":
            import ctypes
            print("dumpable", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)
            os._exit(0)

sys.meta_path.insert(0, Watcher())
sys.argv = ["app.web", "127.0.0.1", "0"]
runpy.run_module("app.web", run_name="__main__")
"""


def run_child(parent):
    environment = build_child_environment({"R4P_END_WITH_PARENT": str(parent)})
    command = [sys.executable, "-c", CHILD]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_child_runs_while_the_parent_is_the_one_that_started_it():
    assert run_child(os.getpid()).stdout == "runs\n"


def test_a_child_whose_parent_has_gone_ends_at_once():
    done = run_child(os.getppid())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "r4p: the parent is gone already\n"


def test_a_living_parent_may_be_process_1_as_in_a_container(bubblewrap):
    sandbox = [find(), "--unshare-pid", "--as-pid-1", "--dev-bind", "/", "/", "--proc", "/proc"]
    code = PARENT.replace("CODE", repr(CHILD))
    done = subprocess.run(
        [*sandbox, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["2", "runs"], done.stderr


def test_a_child_ends_when_its_parent_is_killed():
    code = PARENT.replace("CODE", repr(CHILD + "time.sleep(60)"))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "runs\n"
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


def test_a_child_gets_the_number_of_its_own_parent_and_not_of_a_grandparent(monkeypatch):
    monkeypatch.setenv("R4P_END_WITH_PARENT", "1")
    assert FIT.build_environment({})["R4P_END_WITH_PARENT"] == str(os.getpid())


def test_the_web_process_hides_its_memory_before_it_imports_its_packages():
    done = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True)
    assert done.stdout == "dumpable 0\n"
