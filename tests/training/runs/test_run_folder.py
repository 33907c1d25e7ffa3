"""What a run leaves on disk, where the disk gives out."""

import resource
from contextlib import contextmanager

import pytest

from training.runs import run_folder


@contextmanager
def limit_file_size(count):
    """No file of this process may grow beyond so many bytes: a disk without room, for whoever writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_failed_write_keeps_the_earlier_file(tmp_path):
    path = tmp_path / run_folder.RESULT
    run_folder.write_file(path, "before")
    with limit_file_size(100), pytest.raises(OSError, match="File too large"):
        run_folder.write_file(path, "after" * 100)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == [run_folder.RESULT]
