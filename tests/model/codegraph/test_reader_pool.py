"""What a reader that strangers' files took over may answer: nothing of it is run, and what is no reading is refused."""

import pickle
import subprocess
from multiprocessing import Pipe

import pytest

from model.codegraph import reader_pool
from model.codegraph.definition_reader import DefinitionRow, FileDefinitions, read_definitions

ROW = ["function", "", "f", 1, 2, 0, 20, "def f()"]
JOBS = [("python", b"def f():\n    pass\n")]


class Answering(reader_pool._Process):
    """A process whose answer is written already."""

    def __init__(self, answer):
        self._socket, self._theirs = Pipe()
        self._theirs.send_bytes(answer)
        self._process = subprocess.Popen(["true"])
        self._process.wait()


class Runs:
    def __reduce__(self):
        return pytest.fail, ("it was run",)


def test_valid_answer_is_parsed():
    (reading,) = Answering(b'[[[["function","","f",1,2,0,20,"def f()"]],false,null,20,true]]').ask(
        JOBS, 5
    )
    assert reading == FileDefinitions([DefinitionRow(*ROW)], False, None, 20, True)


@pytest.mark.parametrize(
    "answer",
    [
        pickle.dumps(Runs()),
        b"",
        b"\xff",
        b"{}",
        b"[]",
        b"[1]",
        b"[[[], false, null, 0, true], [[], false, null, 0, true]]",
        b'[[[], false, null, "0", true]]',
        b"[[[], false, 0, 0, true]]",
        b"[[[], false, null, 0]]",
        b"[[null, false, null, 0, true]]",
        b'[[[["function", "", "f", true, 2, 0, 20, ""]], false, null, 0, true]]',
        b'[[[["function", "", "f", 1, 2, 0, 20]], false, null, 0, true]]',
        b'[[[["function", "", "f", 1, 2, 0, "20", ""]], false, null, 0, true]]',
        b'[[[["function", "", null, 1, 2, 0, 20, ""]], false, null, 0, true]]',
        b"[" * 100_000,
    ],
    ids=lambda answer: str(answer[:30]),
)
def test_invalid_answer_is_refused(answer):
    with pytest.raises(reader_pool._Lost):
        Answering(answer).ask(JOBS, 5)


def test_too_long_answer_is_refused(monkeypatch):
    monkeypatch.setattr(reader_pool, "_ANSWER_BYTES", 1000)
    with pytest.raises(reader_pool._Lost, match="lost"):
        Answering(b" " * 1001).ask(JOBS, 5)


def test_reader_process_reads_as_this_process():
    process = reader_pool._start_process()
    try:
        assert process.ask(JOBS, 20) == [read_definitions(*JOBS[0])]
    finally:
        process.close()
