import json

import pytest

from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue
from training.datasets import agent_tasks
from training.objective.episode_rewards import EpisodeReward, reward_episode
from training.plans.plan import BadPlan, OverlongHandling


@pytest.mark.parametrize(
    ("stop", "believed", "overlong", "expected"),
    [
        ("SUBMITTED", 0.75, "KEEP", (0.75, True)),
        ("SUBMITTED", None, "KEEP", (None, False)),
        ("MALFORMED", None, "MASK", (0.0, True)),
        ("ROUNDS", None, "KEEP", (0.0, True)),
        ("ROUNDS", None, "MASK", (0.0, False)),
        ("TOKENS", None, "MASK", (0.0, False)),
        ("TIMEOUT", None, "KEEP", (None, False)),
        ("ENGINE", None, "KEEP", (None, False)),
    ],
)
def test_end_of_an_episode_decides_its_reward(stop, believed, overlong, expected):
    reward = reward_episode(StopReason[stop], believed, OverlongHandling[overlong])
    assert reward == EpisodeReward(expected[0], is_trained_on=expected[1])


TASK = {"format": "r4p.task/1", "issue": "o/r#1", "title": "It", "body": "fails.", "tree": "one"}


def write_tasks(folder, *tasks):
    (folder / "one").mkdir()
    path = folder / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in tasks))
    return path


def test_task_names_its_tree_beside_the_file(tmp_path):
    (task,) = agent_tasks.read_tasks(write_tasks(tmp_path, TASK))
    assert (task.issue, task.statement, task.tree) == (
        "o/r#1",
        Issue("It", "fails."),
        tmp_path / "one",
    )
    assert (task.group.repo, task.group.patches, task.group.targets) == ("o/r", ("",), (0.0,))


def test_held_out_issue_is_no_task(tmp_path):
    path = write_tasks(tmp_path, TASK, TASK | {"issue": "o/r#2"})
    assert [one.issue for one in agent_tasks.read_tasks(path, {"o/r#1"})] == ["o/r#2"]
    with pytest.raises(BadPlan, match=r"none of the 2 tasks .* held out"):
        agent_tasks.read_tasks(path, {"o/r#1", "o/r#2"})


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([TASK | {"tree": "two"}], r"line 1: there is no folder .*two"),
        ([TASK | {"format": "x"}], "line 1 is 'x', but this version reads r4p.task/1"),
        ([{"format": "r4p.task/1"}], "line 1 is no task"),
        ([TASK, TASK], "two tasks for the same issue"),
        ([], "none of the 0 tasks .* there are none"),
    ],
)
def test_invalid_task_file_is_refused_with_its_line(tmp_path, tasks, message):
    with pytest.raises(BadPlan, match=message):
        agent_tasks.read_tasks(write_tasks(tmp_path, *tasks))


def test_missing_task_file_is_named(tmp_path):
    with pytest.raises(BadPlan, match="can't be read"):
        agent_tasks.read_tasks(tmp_path / "none")
    with pytest.raises(BadPlan, match="--material"):
        agent_tasks.read_tasks(None)
