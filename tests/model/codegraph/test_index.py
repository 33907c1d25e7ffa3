"""One index serves every commit: what is known is not read again, and a snapshot shows its own tree only."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from model.codegraph import languages
from model.codegraph.entities import Entity, EntityKind, Skipped
from model.codegraph.index import open_index
from model.errors import NoIndex
from tests.model.codegraph.builders import build_tree

FIRST = {
    "b.py": "class Shelf:\n    def put(self, x):\n        return x\n",
    "a.py": "import b\n\n@cache\ndef put(x): pass\n\ndef put(y): pass\n",
    "README.md": "def put(): no code\n",
}


@pytest.fixture
def index(tmp_path):
    with open_index(tmp_path / "graph" / "index.sqlite") as graph:
        yield graph


def test_snapshot_finds_a_name_with_its_place_and_source(index):
    blobs, read, _ = build_tree(FIRST)
    snapshot, report = index.build_snapshot(blobs, read)
    assert snapshot.find(EntityKind.FUNCTION, "put") == (
        Entity(EntityKind.FUNCTION, "put", "put", "a.py", 3, 4, 10, 33, "def put(x)"),
        Entity(EntityKind.FUNCTION, "put", "put", "a.py", 6, 6, 35, 51, "def put(y)"),
    )
    (method,) = snapshot.find(EntityKind.CLASS_METHOD, "put")
    assert (method.path, method.qualified_name) == ("b.py", "Shelf.put")
    assert (
        FIRST["b.py"][method.start_byte : method.end_byte] == "def put(self, x):\n        return x"
    )
    assert snapshot.find(EntityKind.CLASS, "put") == ()
    assert snapshot.list_paths() == ("README.md", "a.py", "b.py")
    assert replace(report, seconds=0) == replace(
        report, files=2, parsed=2, reused=0, entities=4, seconds=0, bytes=104
    )


def test_second_snapshot_reads_only_new_blobs(index):
    blobs, read, _ = build_tree(FIRST)
    first, _ = index.build_snapshot(blobs, read)
    changed = FIRST | {"a.py": "def take(): pass\n"}
    blobs, read, seen = build_tree(changed)
    second, report = index.build_snapshot(blobs, read)
    assert seen == ["a.py"]
    assert (report.parsed, report.reused, report.entities) == (1, 1, 3)
    assert second.find(EntityKind.FUNCTION, "put") == ()
    assert len(second.find(EntityKind.FUNCTION, "take")) == 1
    assert first.find(EntityKind.FUNCTION, "take") == ()
    assert len(first.find(EntityKind.FUNCTION, "put")) == 2


def test_unchanged_commit_reads_nothing_after_a_restart(tmp_path):
    for expected in (["b.py", "a.py"], []):
        blobs, read, seen = build_tree(FIRST)
        with open_index(tmp_path / "index.sqlite") as index:
            _, report = index.build_snapshot(blobs, read)
        assert seen == expected
        assert report.entities == 4


def test_one_content_at_two_paths_is_read_once_and_found_twice(index):
    blobs, read, seen = build_tree({"z.py": "def f(): pass\n", "a/z.py": "def f(): pass\n"})
    snapshot, report = index.build_snapshot(blobs, read)
    assert [one.path for one in snapshot.find(EntityKind.FUNCTION, "f")] == ["a/z.py", "z.py"]
    assert (len(seen), report.parsed, report.reused, report.entities) == (1, 1, 1, 2)


def test_one_content_in_two_languages_is_read_in_both(index):
    text = "void f(void) {}\n"
    blobs, read, _ = build_tree({"a.c": text, "a.cpp": text, "a.py": text})
    snapshot, report = index.build_snapshot(blobs, read)
    assert [one.path for one in snapshot.find(EntityKind.FUNCTION, "f")] == ["a.c", "a.cpp"]
    assert report.broken == ("a.py",)


def test_skipped_file_is_reported_by_every_snapshot(index):
    blobs, read, _ = build_tree({"a.py": "x = '\0'\n"})
    reports = [index.build_snapshot(blobs, read)[1] for _ in range(2)]
    reason = "holds NUL bytes: binary or UTF-16, not source in UTF-8"
    assert [report.skipped for report in reports] == [(Skipped("a.py", reason),)] * 2
    assert [report.parsed for report in reports] == [1, 0]


def test_unreadable_file_is_tried_again(index):
    blobs, read, _ = build_tree({"a.py": "def f(): pass\n"})

    def fails(path):
        raise PermissionError(13, "Permission denied", path)

    _, report = index.build_snapshot(blobs, fails)
    assert report.skipped == (Skipped("a.py", "Permission denied"),)
    snapshot, report = index.build_snapshot(blobs, read)
    assert report.skipped == ()
    assert snapshot.find(EntityKind.FUNCTION, "f")


def test_missing_grammar_is_reported(index, monkeypatch):
    monkeypatch.setattr("model.codegraph.index.get_edition", lambda language: None)
    blobs, read, seen = build_tree({"Main.java": "class Main {}\n"})
    _, report = index.build_snapshot(blobs, read)
    assert report.skipped == (
        Skipped("Main.java", "no grammar for java: pip install tree-sitter-java"),
    )
    assert (report.files, report.parsed, seen) == (1, 0, [])


def test_a_grammar_that_is_not_installed_has_no_edition(monkeypatch):
    languages.get_edition.cache_clear()
    monkeypatch.setitem(
        languages._BY_NAME, "java", replace(languages._BY_NAME["java"], package="tree-sitter-jav")
    )
    assert languages.get_edition("java") is None
    languages.get_edition.cache_clear()


def test_similar_names_are_of_this_tree_and_construct(index):
    index.build_snapshot(*build_tree({"old.py": "def get_query_sets(): pass\n"})[:2])
    blobs, read, _ = build_tree(
        {"a.py": "def get_queryset(): pass\nclass get_querysets: pass\ndef x(): pass\n"}
    )
    snapshot, _ = index.build_snapshot(blobs, read)
    assert snapshot.find_similar_names(EntityKind.FUNCTION, "get_querysets") == ("get_queryset",)
    assert snapshot.find_similar_names(EntityKind.FUNCTION, "get_queryset") == ()
    assert snapshot.find_similar_names(EntityKind.CLASS_METHOD, "get_queryset") == ()


def test_several_threads_may_ask_and_index_at_once(index):
    def job(number):
        blobs, read, _ = build_tree(FIRST | {"own.py": f"def own_{number}(): pass\n"})
        snapshot, _ = index.build_snapshot(blobs, read)
        return len(snapshot.find(EntityKind.FUNCTION, f"own_{number}")), len(
            snapshot.find(EntityKind.FUNCTION, "put")
        )

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(job, range(40))) == {(1, 2)}


def test_concurrent_indexes_store_each_entity_once(tmp_path):
    blobs, read, _ = build_tree({f"{n}.py": f"def f{n}(): pass\n" for n in range(40)})

    def job(_):
        with open_index(tmp_path / "index.sqlite") as index:
            return index.build_snapshot(blobs, read)[1].entities

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(job, range(3))) == {40}
    with sqlite3.connect(tmp_path / "index.sqlite") as raw:
        assert raw.execute("select count(*) from entities").fetchone() == (40,)
    raw.close()


def test_foreign_file_is_refused_and_unchanged(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("My notes. " * 100)
    with pytest.raises(NoIndex, match=r"notes\.txt can\'t be used: .*; name another file"):
        open_index(file)
    assert file.read_text() == "My notes. " * 100
    with pytest.raises(NoIndex, match="can't be opened"):
        open_index(file / "below.sqlite")
