"""`r4p index`: what it prints, and when it refuses."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import main
from tests.model.codegraph.builders import write_files


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return lambda *arguments: CliRunner().invoke(main, ["index", *map(str, arguments)])


def test_json_lists_read_and_skipped_files(run, tmp_path):
    tree = write_files(
        tmp_path / "tree", {"a.py": "def f(): pass\n", "b.py": "def g(:\n", "c.py": "\0"}
    )
    (tree / "l.py").symlink_to("a.py")
    first, second = (json.loads(run(tree, "--json").stdout) for _ in range(2))
    assert first["schema"] == "r4p.index/1"
    assert (first["files"], first["parsed"], first["bytes"]) == (3, 3, 22)
    assert (second["parsed"], second["reused"], second["entities"]) == (0, 3, first["entities"])
    assert [one["path"] for one in first["skipped"]] == ["l.py", "c.py"]
    assert first["broken"] == ["b.py"]
    assert first["seconds"] > 0


def test_text_output_sums_up_read_and_skipped_files(run, tmp_path):
    files = {f"{n}.py": "\0" for n in range(30)} | {"b.py": "class A:\n  def f(self): pass\n"}
    result = run(write_files(tmp_path / "tree", files), "--database", tmp_path / "own.sqlite")
    assert result.exit_code == 0
    assert result.stdout.startswith("2 entities in 31 files (29 bytes): 2 read, 29 known, ")
    assert "left out: 10.py: holds NUL bytes" in result.stdout
    assert "and 10 more; --json lists all" in result.stdout
    assert (tmp_path / "own.sqlite").exists()
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("files", [{}, {"notes.txt": "x"}])
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_folder_without_code_is_refused(run, tmp_path, files, as_json):
    tree = tmp_path / "tree"
    tree.mkdir()
    result = run(write_files(tree, files), *as_json)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"r4p index: {tree} holds no source file in a known language (c, cpp, go, java, "
        "javascript, python, rust, tsx, typescript); name a folder that does\n"
    )


def test_missing_tree_or_database_folder_is_refused(run, tmp_path):
    assert run(tmp_path / "missing").exit_code == 2
    assert run(tmp_path, "--database", tmp_path).exit_code == 2
