"""Run files: what is added is kept whole, what was cut off is taken away, and no other file is touched."""

import json
from dataclasses import replace

import pytest

from model.domain import Verdict
from model.errors import BadRun
from model.evaluation import run_file
from model.evaluation.run_file import read_run_file
from tests.model.evaluation.builders import cast_vote, make_judged_group

FIRST = make_judged_group(
    "a", (0.9, True), (None, False), votes=[cast_vote(["candidate-1"]), cast_vote(None)], asked=2
)
SECOND = replace(make_judged_group("b", (0.1, True)), similarity=0.25, language="java")


@pytest.fixture
def path(tmp_path):
    """A run file with two groups, in a folder that was not there."""
    path = tmp_path / "runs" / "run.jsonl"
    with run_file.open_run_file(path) as file:
        assert file.judged == ()
        file.add(FIRST)
        file.add(SECOND)
    return path


def test_added_group_is_read_back(path):
    assert list(read_run_file(path)) == [FIRST, SECOND]
    assert next(read_run_file(path)).patches[1].verdict is Verdict.NOT_JUDGED


def test_line_has_its_schema_and_key(path):
    first = json.loads(path.read_text().splitlines()[0])
    assert first["schema"] == "r4p.judged/1"
    assert first["key"]["engine"]["model"] == "script"
    assert first["patches"][0]["resolved"] is True


def test_fields_missing_in_an_older_file_are_unknown(path):
    older = [json.loads(line) for line in path.read_text().splitlines()]
    for one in (patch for group in older for patch in group["patches"]):
        del one["rank"], one["edit"]
    path.write_text("".join(f"{json.dumps(group, separators=(',', ':'))}\n" for group in older))
    assert list(read_run_file(path)) == [FIRST, SECOND]


def test_half_written_line_is_cut_off(path):
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 30, -7):
        path.write_bytes(whole[:cut])
        assert list(read_run_file(path)) == [FIRST]
        with run_file.open_run_file(path) as file:
            assert file.judged == (FIRST,)
            file.add(SECOND)
        assert path.read_bytes() == whole


def test_second_run_on_a_file_is_refused(path):
    refused = pytest.raises(BadRun, match="being written by another run")
    with run_file.open_run_file(path), refused, run_file.open_run_file(path):
        pytest.fail("held twice")
    with run_file.open_run_file(path) as file:
        assert len(file.judged) == 2


@pytest.mark.parametrize("content", [b"a note without an end", b'{"some": "json"}', b"{}\n"])
def test_foreign_file_is_refused_and_unchanged(tmp_path, content):
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadRun, match=r"notes\.jsonl"), run_file.open_run_file(path):
        pytest.fail("opened")
    assert path.read_bytes() == content


def test_bad_line_is_named(path):
    path.write_bytes(path.read_bytes() + b'{"key": 1}\n')
    with pytest.raises(BadRun, match=r"line 3 is no judged group \(key"):
        list(read_run_file(path))


def test_unopenable_file_is_reported(tmp_path):
    with pytest.raises(BadRun, match="can't be read: No such file"):
        list(read_run_file(tmp_path / "none.jsonl"))
    with (
        pytest.raises(BadRun, match="can't be written: Is a dir"),
        run_file.open_run_file(tmp_path),
    ):
        pytest.fail("opened")
