"""The memory of a process counts with that of all its descendants, and shared pages count once."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from model.sandbox.memory_limit import MemoryLimit, measure_tree

MEGABYTE = 1024**2
PROGRAM = """
import os, signal, sys
shared = bytearray(b"x") * (int(sys.argv[1]) << 20)
pipe = os.pipe()
for _ in range(4):
    if not os.fork():
        own = bytearray(b"x") * (int(sys.argv[2]) << 20)
        os.write(pipe[1], b"x")
        signal.pause()
        sys.exit()
got = b""
while len(got) < 4:
    got += os.read(pipe[0], 4)
print("ready", flush=True)
signal.pause()
"""


@contextmanager
def run_family(shared, own):
    """A process with `shared` megabytes and four children, each with `own` megabytes more."""
    command = [sys.executable, "-I", "-c", PROGRAM, f"{shared}", f"{own}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=True)


def test_children_count():
    with run_family(0, 50) as root:
        assert 200 <= measure_tree(root, 0) / MEGABYTE < 400
        assert MemoryLimit(root, 150 * MEGABYTE).is_exceeded()
        assert not MemoryLimit(root, 1024 * MEGABYTE).is_exceeded()


def test_shared_pages_count_once_near_the_limit():
    with run_family(100, 0) as root:
        assert measure_tree(root, 10_000 * MEGABYTE) > 500 * MEGABYTE
        assert 100 <= measure_tree(root, 250 * MEGABYTE) / MEGABYTE < 250
        assert not MemoryLimit(root, 250 * MEGABYTE).is_exceeded()


@pytest.mark.parametrize("enough", [0, 10**12])
def test_a_process_that_is_gone_has_no_memory(enough):
    with run_family(0, 0) as root:
        pass
    assert measure_tree(root, enough) == 0
