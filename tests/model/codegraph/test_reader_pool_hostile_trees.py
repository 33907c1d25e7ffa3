"""Whatever a tree holds, the index ends in time, says what it left out, and reads the rest."""

import os
import signal
from pathlib import Path

import pytest

from model.codegraph import reader_pool
from model.codegraph.entities import EntityKind, Skipped
from model.codegraph.index import open_index
from model.errors import NoReader
from tests.model.codegraph.builders import build_tree, index_directory, write_files

MANY = {f"{n}.py": f"def f{n}(): pass\n" for n in range(600)}
SLOW = "(" * 260_000 + "def " * 65_000
"""To find what is around each word would take minutes."""


@pytest.fixture
def short_limits(monkeypatch):
    monkeypatch.setattr(reader_pool, "_BATCH_SECONDS", 3.0)
    monkeypatch.setattr(reader_pool, "_FILE_SECONDS", 2.0)


def test_slow_file_is_skipped_for_good(short_limits, tmp_path):
    blobs, read, seen = build_tree(MANY | {"slow.py": SLOW})
    with open_index(tmp_path / "index.sqlite") as index:
        snapshot, report = index.build_snapshot(blobs, read)
        assert report.skipped == (
            Skipped("slow.py", "reading it takes more than 2 s of computing"),
        )
        assert report.entities == 600
        assert snapshot.find(EntityKind.FUNCTION, "f599")
        seen.clear()
        _, again = index.build_snapshot(blobs, read)
    assert again.skipped == report.skipped
    assert seen == []
    assert list_reader_processes() == set()


def test_killed_readers_lose_no_file(tmp_path):
    blobs, load, _ = build_tree(MANY)
    killed = []

    def read(path):
        """By the time of this file each process has read others."""
        if path == "300.py":
            for child in list_reader_processes():
                os.kill(child, signal.SIGKILL)
                killed.append(child)
        return load(path)

    with open_index(tmp_path / "index.sqlite") as index:
        _, report = index.build_snapshot(blobs, read)
    assert killed
    assert (report.entities, report.skipped) == (600, ())


@pytest.fixture
def index_fatal_file(tmp_path, monkeypatch):
    """Reads a tree with one file that ends every process that reads it: how, a file beside the index says."""
    how = tmp_path / "how"
    monkeypatch.setattr(reader_pool, "_MODULE", "tests.model.codegraph.fatal_reader")
    monkeypatch.setattr(reader_pool, "_ISOLATED", ())
    monkeypatch.chdir(Path(__file__).parents[3])
    blobs, read, seen = build_tree(MANY | {"fatal.py": f"FATAL = {str(how)!r}\n"})

    def reading(end):
        how.write_text(end)
        seen.clear()
        with open_index(tmp_path / "index.sqlite") as index:
            _, report = index.build_snapshot(blobs, read)
        assert report.entities == 600
        return report.skipped, seen

    return reading


@pytest.mark.parametrize(
    ("end", "why"),
    [("SIGKILL", "SIGKILL"), ("SIGABRT", "SIGABRT"), ("SIGTERM", "SIGTERM"), ("exit", "exit 1")],
)
def test_file_whose_reader_was_lost_is_read_next_time(index_fatal_file, end, why):
    """Out of memory is no more the file's fault than whoever ends the process."""
    reason = f"the parser's process was lost ({why})"
    assert index_fatal_file(end)[0] == (Skipped("fatal.py", reason),)
    assert index_fatal_file("none") == ((), ["fatal.py"])


def test_file_that_crashes_the_parser_is_skipped_for_good(index_fatal_file):
    skipped = (Skipped("fatal.py", "the parser crashes on it"),)
    assert index_fatal_file("SIGSEGV")[0] == skipped
    assert index_fatal_file("none") == (skipped, [])


def test_reader_that_cannot_start_marks_no_file_unreadable(tmp_path, monkeypatch):
    blobs, read, _ = build_tree(MANY)
    with open_index(tmp_path / "index.sqlite") as index:
        with monkeypatch.context() as changed:
            changed.setattr(reader_pool, "_MODULE", "model.codegraph.absent")
            with pytest.raises(NoReader, match=r"absent` .* install r4p-bot into that Python"):
                index.build_snapshot(blobs, read)
        assert index.build_snapshot(blobs, read)[1].entities == 600


def test_files_after_the_deadline_are_reported_and_read_next_time(tmp_path):
    blobs, read, _ = build_tree(MANY)
    with open_index(tmp_path / "index.sqlite") as index:
        _, report = index.build_snapshot(blobs, read, seconds=-1)
        assert {one.reason for one in report.skipped} == {"the time for the whole tree was over"}
        assert (len(report.skipped), report.parsed) == (600, 0)
        _, report = index.build_snapshot(blobs, read)
    assert (report.skipped, report.parsed) == ((), 600)


def test_callers_error_leaves_no_process_and_a_valid_index(tmp_path):
    blobs, read, _ = build_tree(MANY)

    def fails(path):
        if path == "40.py":
            raise KeyboardInterrupt
        return read(path)

    with open_index(tmp_path / "index.sqlite") as index:
        with pytest.raises(KeyboardInterrupt):
            index.build_snapshot(blobs, fails)
        assert list_reader_processes() == set()
        assert index.build_snapshot(blobs, read)[1].entities == 600


def test_odd_files_are_read_or_skipped(tmp_path):
    root = write_files(
        tmp_path / "tree",
        {
            "one_line.py": b"x = [" + b"1, " * 1_700_000 + b"]",
            "one_line.js": b"f();" * 100_000,
            "utf16.py": "def f(): pass".encode("utf-16"),
            "latin.py": "# -*- coding: latin-1 -*-\ndef latin(): return 'é'\n".encode("latin-1"),
            "bom.py": b"\xef\xbb\xbfdef bom(): pass\n",
            "mac.py": b"def mac():\r    pass\r",
            "empty.py": b"",
            "binary.py": bytes(range(256)) * 100,
            "broken.py": b"def broken(:\n" * 100,
            "deep.py": b"".join(b" " * n + b"def deep():\n" for n in range(700)),
            "/".join(["d"] * 200) + "/far.py": b"def far(): pass\n",
            "python.py/inner.py": b"def inner(): pass\n",
        },
    )
    (root / "loop").symlink_to(root)
    (root / "d" / "back").symlink_to("../..")
    with index_directory(root, tmp_path / "index.sqlite") as (snapshot, report, surveyed):
        names = ["latin", "bom", "mac", "far", "inner", "deep"]
        assert [name for name in names if not snapshot.find(EntityKind.FUNCTION, name)] == []
        left_out = {one.path for one in report.skipped + surveyed.skipped}
    assert left_out == {"one_line.py", "utf16.py", "binary.py", "loop", "d/back"}
    assert "broken.py" in report.broken


def test_too_deep_directory_is_reported(tmp_path):
    root = write_files(tmp_path / "tree", {"a.py": "def f(): pass\n"})
    make_deep_folders(root, 30, "n" * 200)
    with index_directory(root, tmp_path / "index.sqlite") as (_, report, surveyed):
        assert report.entities == 1
    assert [one.reason for one in surveyed.skipped] == ["File name too long"]


def make_deep_folders(root, levels, name):
    """Directories below each other, deeper than a path can say."""
    handle = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def list_reader_processes():
    """Processes that read for this one and are still there."""
    task = Path(f"/proc/{os.getpid()}/task")
    listed = " ".join(file.read_text() for file in task.glob("*/children")).split()
    return {int(child) for child in listed if b"codegraph" in read_command_line(child)}


def read_command_line(process):
    """Nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
