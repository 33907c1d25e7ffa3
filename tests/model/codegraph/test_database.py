"""The file an index is kept in: what nobody uses is pruned, and whatever is wrong with the file is said in one sentence."""

import sqlite3
from contextlib import closing

import pytest

from model.codegraph import database
from model.codegraph.database import KEPT_DAYS
from model.codegraph.entities import EntityKind
from model.codegraph.index import open_index
from model.errors import NoIndex
from tests.model.codegraph.builders import build_tree


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.sqlite"


@pytest.fixture
def index_on_day(monkeypatch, path):
    """The snapshot of a tree, made on that day by a process of its own."""

    def build(day, files):
        monkeypatch.setattr(database, "_get_today", lambda: day)
        blobs, read, seen = build_tree(files)
        with open_index(path) as index:
            index.build_snapshot(blobs, read)
        return seen

    return build


def count_rows(path, table):
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute(f"select count(*) from {table}").fetchone()[0]


def test_unused_blobs_and_entities_are_pruned(index_on_day, path):
    for day in range(100):
        index_on_day(day, {"a.py": f"def f():\n    return {day}\n", "same.py": "def g(): pass\n"})
    assert count_rows(path, "blobs") == count_rows(path, "entities") <= KEPT_DAYS + 3


def test_used_blobs_are_kept(index_on_day):
    same = {"same.py": "def g(): pass\n"}
    for day in range(0, 100, KEPT_DAYS - 1):
        seen = index_on_day(day, same | {"a.py": f"x = {day}\n"})
        assert ("same.py" in seen) == (day == 0)


def test_tree_is_read_again_after_pruning(index_on_day):
    files = {"a.py": "def f(): pass\n"}
    assert index_on_day(0, files) == ["a.py"]
    assert index_on_day(KEPT_DAYS, files) == []
    index_on_day(3 * KEPT_DAYS, {"b.py": "x = 1\n"})
    assert index_on_day(3 * KEPT_DAYS + 1, files) == ["a.py"]


def test_pruned_blob_number_is_never_reused(monkeypatch, path):
    """An old snapshot that somebody holds finds nothing, instead of something else."""
    day = [0]
    monkeypatch.setattr(database, "_get_today", lambda: day[0])
    with open_index(path) as index:
        old, _ = index.build_snapshot(*build_tree({"a.py": "def f(): pass\n"})[:2])
        day[0] = 3 * KEPT_DAYS
        index.build_snapshot(*build_tree({"b.py": "def g(): pass\n"})[:2])
        index.build_snapshot(*build_tree({"c.py": "def f(x): pass\n"})[:2])
        assert old.find(EntityKind.FUNCTION, "f") == ()


def test_foreign_database_is_refused_and_unchanged(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table blobs (mine)")
    before = path.read_bytes()
    with pytest.raises(
        NoIndex, match="is not an index of this version; delete it, or name another"
    ):
        open_index(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_broken_database_is_reported_with_the_fix(path):
    blobs, read, _ = build_tree({"a.py": "def f(): pass\n"})
    with open_index(path) as index:
        snapshot, _ = index.build_snapshot(blobs, read)
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("drop table entities")
        said = r"index\.sqlite can't be used: no such table: entities; delete it, or name another"
        with pytest.raises(NoIndex, match=said):
            snapshot.find(EntityKind.FUNCTION, "f")
        with pytest.raises(NoIndex, match=said):
            snapshot.find_similar_names(EntityKind.FUNCTION, "f")
        with pytest.raises(NoIndex, match=said):
            index.build_snapshot(*build_tree({"b.py": "def f(x): pass\n"})[:2])


def test_locked_database_is_reported(path, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    with open_index(path) as index, closing(sqlite3.connect(path)) as connection:
        connection.execute("begin immediate")
        with pytest.raises(NoIndex, match="database is locked; another process writes to it"):
            index.build_snapshot(*build_tree({"b.py": "def f(): pass\n"})[:2])


def test_too_deep_folder_is_reported(tmp_path):
    deep = "/".join(["d"] * 1900)
    with pytest.raises(NoIndex, match="can't be opened"):
        open_index(tmp_path / deep / "index.sqlite")
    assert list(tmp_path.iterdir()) == []
