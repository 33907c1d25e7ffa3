"""The file an index is kept in: what nobody uses is pruned, and whatever is wrong with the file is said in one sentence."""

import sqlite3
from contextlib import closing

import pytest

from model.codegraph import database
from model.codegraph.database import KEPT_DAYS
from model.codegraph.entities import EntityKind
from model.codegraph.index import open_index
from model.errors import NoIndex
from tests.model.codegraph.builders import tree


@pytest.fixture
def file(tmp_path):
    return tmp_path / "index.sqlite"


@pytest.fixture
def on_day(monkeypatch, file):
    """The snapshot of a tree, made on that day by a process of its own."""

    def made(day, files):
        monkeypatch.setattr(database, "_get_today", lambda: day)
        blobs, read, seen = tree(files)
        with open_index(file) as index:
            index.build_snapshot(blobs, read)
        return seen

    return made


def rows(file, table):
    with closing(sqlite3.connect(file)) as raw:
        return raw.execute(f"select count(*) from {table}").fetchone()[0]


def test_what_no_snapshot_used_for_long_is_pruned(on_day, file):
    for day in range(100):
        on_day(day, {"a.py": f"def f():\n    return {day}\n", "same.py": "def g(): pass\n"})
    assert rows(file, "blobs") == rows(file, "entities") <= KEPT_DAYS + 3


def test_what_is_used_is_kept(on_day):
    same = {"same.py": "def g(): pass\n"}
    for day in range(0, 100, KEPT_DAYS - 1):
        seen = on_day(day, same | {"a.py": f"x = {day}\n"})
        assert ("same.py" in seen) == (day == 0)


def test_a_tree_that_comes_back_late_is_read_again(on_day):
    files = {"a.py": "def f(): pass\n"}
    assert on_day(0, files) == ["a.py"]
    assert on_day(KEPT_DAYS, files) == []
    on_day(3 * KEPT_DAYS, {"b.py": "x = 1\n"})
    assert on_day(3 * KEPT_DAYS + 1, files) == ["a.py"]


def test_a_pruned_blobs_number_is_given_to_no_other(monkeypatch, file):
    """An old snapshot that somebody holds finds nothing, instead of something else."""
    day = [0]
    monkeypatch.setattr(database, "_get_today", lambda: day[0])
    with open_index(file) as index:
        old, _ = index.build_snapshot(*tree({"a.py": "def f(): pass\n"})[:2])
        day[0] = 3 * KEPT_DAYS
        index.build_snapshot(*tree({"b.py": "def g(): pass\n"})[:2])
        index.build_snapshot(*tree({"c.py": "def f(x): pass\n"})[:2])
        assert old.find(EntityKind.FUNCTION, "f") == ()


def test_a_database_of_something_else_is_left_as_it_is(file):
    with closing(sqlite3.connect(file)) as other:
        other.execute("create table blobs (mine)")
    before = file.read_bytes()
    with pytest.raises(
        NoIndex, match="is not an index of this version; delete it, or name another"
    ):
        open_index(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_what_breaks_the_file_later_is_said_with_the_fix(file):
    blobs, read, _ = tree({"a.py": "def f(): pass\n"})
    with open_index(file) as index:
        snapshot, _ = index.build_snapshot(blobs, read)
        with closing(sqlite3.connect(file)) as raw:
            raw.execute("drop table entities")
        said = r"index\.sqlite can't be used: no such table: entities; delete it, or name another"
        with pytest.raises(NoIndex, match=said):
            snapshot.find(EntityKind.FUNCTION, "f")
        with pytest.raises(NoIndex, match=said):
            snapshot.find_similar_names(EntityKind.FUNCTION, "f")
        with pytest.raises(NoIndex, match=said):
            index.build_snapshot(*tree({"b.py": "def f(x): pass\n"})[:2])


def test_a_file_that_somebody_else_holds_is_said(file, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    with open_index(file) as index, closing(sqlite3.connect(file)) as other:
        other.execute("begin immediate")
        with pytest.raises(NoIndex, match="database is locked; another process writes to it"):
            index.build_snapshot(*tree({"b.py": "def f(): pass\n"})[:2])


def test_a_folder_deeper_than_python_can_make_is_said(tmp_path):
    deep = "/".join(["d"] * 1900)
    with pytest.raises(NoIndex, match="can't be opened"):
        open_index(tmp_path / deep / "index.sqlite")
    assert list(tmp_path.iterdir()) == []
