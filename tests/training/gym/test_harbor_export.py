"""A gym is checked, shown, and exported as Harbor tasks whose grader tells right from wrong."""

import json
import subprocess
import sys
import tempfile
import tomllib

import pytest
from typer.testing import CliRunner

from model.errors import BadGym
from model.gyms.gym_folder import read_gym
from tests.training.gym.conftest import build_task
from tests.training.gym.test_gym_folder import write
from training.commands.gym import app
from training.gym.gym_check import find_problems
from training.gym.harbor_export import export_harbor

PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-value = 1\n+value = 2\n"
TEST_PATCH = "--- /dev/null\n+++ b/test_x.py\n@@ -0,0 +1,4 @@\n+import x\n+\n+def test_two():\n+    assert x.value == 2\n"


@pytest.fixture
def gym(tmp_path):
    """The folder of a gym of one task."""
    (tree := tmp_path / "source").mkdir()
    (tree / "x.py").write_text("value = 1\n")
    task = build_task(
        "a-1",
        patch=PATCH,
        test_patch=TEST_PATCH,
        fail_to_pass=("test_x.py::test_two",),
        candidates=(),
    )
    return write(tmp_path, [task], {"a-1": tree})


@pytest.mark.parametrize(("solves", "reward"), [(True, "1"), (False, "0")])
def test_the_grader_of_an_export_gives_the_reward(gym, tmp_path, solves, reward):
    assert export_harbor(read_gym(gym), tmp_path / "harbor") == 1
    task = tmp_path / "harbor" / "a-1"
    assert tomllib.loads((task / "task.toml").read_text())["metadata"]["licence"] == "MIT"
    assert (task / "instruction.md").read_text() == "double(3) returns 7."
    assert "pytest==9.0.2" in (task / "environment" / "requirements.txt").read_text()
    work = task / "environment" / "tree"
    patches = ["tests/test.patch", *(["solution/solution.patch"] if solves else [])]
    for patch in patches:
        subprocess.run(["git", "apply", str(task / patch)], cwd=work, check=True)
    command = [
        sys.executable,
        str(task / "tests" / "grade.py"),
        str(task / "tests" / "expected.json"),
        "reward.txt",
    ]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    assert (work / "reward.txt").read_text() == reward


def test_a_task_of_another_runner_is_not_exported(tmp_path, tree):
    folder = write(tmp_path, [build_task("a-1", command="python runtests.py")], {"a-1": tree})
    with pytest.raises(BadGym, match="only tasks that pytest runs"):
        export_harbor(read_gym(folder), tmp_path / "harbor")


def test_a_sound_gym_has_no_problem(gym):
    assert list(find_problems(read_gym(gym))) == []
    assert CliRunner().invoke(app, ["check", str(gym)]).exit_code == 0


def test_each_checked_tree_is_removed_before_the_next(tmp_path, tree, monkeypatch):
    tasks = [build_task(name) for name in ("a-1", "a-2", "a-3")]
    folder = write(tmp_path, tasks, dict.fromkeys(("a-1", "a-2", "a-3"), tree))
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    left = []
    gym = read_gym(folder)
    list(find_problems(gym, lambda _done: left.append(len(list(scratch.glob("*check*"))))))
    assert left == [0, 0, 0]


def test_problems_are_named(tmp_path, tree):
    task = build_task(
        "a-1", statement="see test_x.py", test_patch=TEST_PATCH, licence="NOASSERTION"
    )
    folder = write(tmp_path, [task], {"a-1": tree})
    text = " ".join(find_problems(read_gym(folder)))
    assert "true patch does not apply" in text
    assert "gives away 'test_x.py'" in text
    assert "--licence" in text
    assert CliRunner().invoke(app, ["check", str(folder)]).exit_code == 3


def test_a_gym_and_a_task_are_shown(gym):
    shown = CliRunner().invoke(app, ["show", str(gym)])
    assert "a-1" in shown.output
    assert "3 commits refused: no tests" in shown.output
    task = CliRunner().invoke(app, ["show", str(gym), "--task", "a-1"])
    assert "double(3) returns 7." in task.output
    document = json.loads(
        CliRunner().invoke(app, ["show", str(gym), "--task", "a-1", "--json"]).output
    )
    assert document["id"] == "a-1"
    assert CliRunner().invoke(app, ["show", str(gym), "--task", "b"]).exit_code == 2
