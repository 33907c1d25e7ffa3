"""A gym is written with the same bytes each time and read back, with its trees."""

import json
import subprocess
from importlib.resources import files

import jsonschema_rs
import pytest

from model.errors import BadGym, GitFailed
from model.gyms.gym_folder import open_trees, read_gym
from model.gyms.gym_task import GymSource, StatementFrom, format_task, parse_task
from model.gyms.tree_files import write_tree
from tests.training.gym.conftest import RECIPES, build_task
from training.gym.gym_folder import build_manifest, write_gym
from training.gym.tree_store import TreeStore

SCHEMA = json.loads((files("model.gyms") / "gym_task.schema.json").read_text())
SOURCES = [GymSource("example/doubling", "MIT", "000..111")]


def write(home, tasks, trees):
    """Write a gym of `tasks` below `home`; `trees` has a folder by task id."""
    store = TreeStore(home / "store")
    stored = {task: store.add_folder(folder) for task, folder in trees.items()}
    manifest = build_manifest("example", tasks, SOURCES, {"no tests": 3, "merge": 1})
    write_gym(home / "gym", manifest, tasks, RECIPES, (store, stored))
    return home / "gym"


@pytest.fixture
def gym(tmp_path, tree):
    """The folder of a gym of two tasks on one tree."""
    return write(tmp_path, [build_task("b.2"), build_task("a-1")], {"a-1": tree, "b.2": tree})


def test_a_gym_is_read_as_it_was_written(gym):
    found = read_gym(gym)
    assert found.tasks == (build_task("a-1"), build_task("b.2"))
    assert found.environments == {"py311": RECIPES["py311"]}
    assert (found.manifest.tasks, found.manifest.refusals) == (2, {"merge": 1, "no tests": 3})
    assert found.manifest.sources == tuple(SOURCES)


def test_a_line_obeys_the_schema():
    jsonschema_rs.validate(SCHEMA, json.loads(format_task(build_task("a-1"))))
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(SCHEMA, json.loads(format_task(build_task("a-1", fail_to_pass=()))))


def test_a_line_names_the_writer_of_the_statement_only_where_a_model_was_to_be_asked():
    assert "statement_from" not in json.loads(format_task(build_task("a-1")))
    for writer in StatementFrom:
        task = build_task("a-1", statement_from=writer)
        jsonschema_rs.validate(SCHEMA, json.loads(format_task(task)))
        assert parse_task(format_task(task)) == task


def test_a_tree_is_checked_out_without_links_that_lead_out(gym, tmp_path):
    with open_trees(read_gym(gym)) as trees:
        trees.check_out("a-1", tmp_path / "out")
        with pytest.raises(BadGym, match="no tree of task c"):
            trees.check_out("c", tmp_path / "other")
    out = tmp_path / "out"
    names = {
        str(path.relative_to(out))
        for path in out.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }
    assert names == {'package/a "b".py', "run.sh", "package/link", "folder link"}
    assert (out / "run.sh").read_bytes() == b"#!/bin/sh\n\xff"
    assert (out / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "package" / "link").read_bytes() == b"#!/bin/sh\n\xff"


def test_the_same_tasks_give_the_same_bytes(tmp_path, tree):
    folders = [tmp_path / name for name in ("first", "second")]
    tasks = [build_task("a-1"), build_task("b-2")]
    for folder in folders:
        folder.mkdir()
        write(folder, list(reversed(tasks)), {"a-1": tree, "b-2": tree})
    first, second = ({p.name: p.read_bytes() for p in (f / "gym").iterdir()} for f in folders)
    assert first == second
    assert len(first) == 4


def git(folder, *arguments):
    """Run git as a person would, with a fixed author."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_packs_of_the_source_repository_do_not_change_the_bundle(tmp_path, tree):
    git(tmp_path, "init", "-q", str(tree))
    for number in range(20):
        (tree / "package" / "big.py").write_text(
            "".join(f"x{i} = {i * number}\n" for i in range(200))
        )
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", f"{number}")
    bundles = []
    for name in ("loose", "packed"):
        store = TreeStore(tmp_path / name)
        trees = {f"t{n}": store.borrow_tree(tree / ".git", f"HEAD~{n}") for n in range(20)}
        bundles.append(store.build_bundle(trees))
        git(tree, "repack", "-q", "-a", "-d", "-f", "--depth=3")
    assert bundles[0] == bundles[1]


def test_a_path_that_no_tree_should_hold_is_refused(tmp_path):
    store = TreeStore(tmp_path / "store")
    blob = store._run("hash-object", "-w", "--stdin", data=b"x").decode().strip()
    entry = f"100644 blob {blob}\t.git\n".encode()
    inner = store._run("mktree", "--missing", data=entry).decode().strip()
    with pytest.raises(GitFailed, match="git's own directory"):
        write_tree(store.repository, inner, tmp_path / "out")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("gym.json", "{}", "r4p.gym/1"),
        ("gym.json", None, "can't be read"),
        ("tasks.jsonl", "{}\n", "line 1"),
        ("tasks.jsonl", format_task(build_task("a-1")) * 2, "each once"),
        ("environments.json", '{"schema": "r4p.environments/1", "environments": {}}', "lacks"),
        ("environments.json", '{"schema": "r4p.environments/1"}', "no object"),
    ],
)
def test_a_broken_file_is_named(gym, file, text, message):
    (gym / file).unlink()
    if text is not None:
        (gym / file).write_text(text)
    with pytest.raises(BadGym, match=message) as caught:
        read_gym(gym)
    assert file in str(caught.value)


def test_a_bundle_that_is_none_is_named(gym):
    (gym / "trees.bundle").write_text("nothing")
    with pytest.raises(BadGym, match=r"trees\.bundle"), open_trees(read_gym(gym)):
        pass


def test_an_existing_folder_and_a_missing_environment_are_refused(tmp_path, tree, gym):
    task = build_task("a-1", environment="py312")
    with pytest.raises(BadGym, match="py312 is missing"):
        write(tmp_path / "x", [task], {"a-1": tree})
    (tmp_path / "store").rename(tmp_path / "old store")
    with pytest.raises(BadGym, match="exists already"):
        write(tmp_path, [build_task("a-1")], {"a-1": tree})


@pytest.mark.parametrize("identifier", ["", "a..b", "a/b", "x.lock", "end.", "-a", "a b"])
def test_an_id_that_git_refuses_is_refused(identifier, tmp_path, tree):
    with pytest.raises(ValueError, match="task id"):
        TreeStore(tmp_path / "store").build_bundle({identifier: "0" * 40})
