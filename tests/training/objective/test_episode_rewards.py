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
        (
            StopReason.SUBMITTED,
            0.75,
            OverlongHandling.KEEP,
            EpisodeReward(0.75, is_trained_on=True),
        ),
        (
            StopReason.SUBMITTED,
            None,
            OverlongHandling.KEEP,
            EpisodeReward(None, is_trained_on=False),
        ),
        (StopReason.MALFORMED, None, OverlongHandling.MASK, EpisodeReward(0.0, is_trained_on=True)),
        (StopReason.ROUNDS, None, OverlongHandling.KEEP, EpisodeReward(0.0, is_trained_on=True)),
        (StopReason.ROUNDS, None, OverlongHandling.MASK, EpisodeReward(0.0, is_trained_on=False)),
        (StopReason.TOKENS, None, OverlongHandling.MASK, EpisodeReward(0.0, is_trained_on=False)),
        (StopReason.TIMEOUT, None, OverlongHandling.KEEP, EpisodeReward(None, is_trained_on=False)),
        (StopReason.ENGINE, None, OverlongHandling.KEEP, EpisodeReward(None, is_trained_on=False)),
    ],
)
def test_how_an_episode_ended_says_what_is_learnt_from_it(stop, believed, overlong, expected):
    assert reward_episode(stop, believed, overlong) == expected


TASK = {"format": "r4p.task/1", "issue": "o/r#1", "title": "It", "body": "fails.", "tree": "one"}


def written(folder, *tasks):
    (folder / "one").mkdir()
    path = folder / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in tasks))
    return path


def test_tasks_name_their_trees_beside_the_file(tmp_path):
    (task,) = agent_tasks.read_tasks(written(tmp_path, TASK))
    assert (task.issue, task.statement, task.tree) == (
        "o/r#1",
        Issue("It", "fails."),
        tmp_path / "one",
    )
    assert (task.group.repo, task.group.patches, task.group.targets) == ("o/r", ("",), (0.0,))


def test_an_issue_that_is_held_out_is_no_task(tmp_path):
    path = written(tmp_path, TASK, TASK | {"issue": "o/r#2"})
    assert [one.issue for one in agent_tasks.read_tasks(path, {"o/r#1"})] == ["o/r#2"]
    with pytest.raises(BadPlan, match=r"none of the 2 tasks .* held out"):
        agent_tasks.read_tasks(path, {"o/r#1", "o/r#2"})


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([TASK | {"tree": "two"}], r"line 1: there is no folder .*two"),
        ([TASK | {"format": "x"}], "line 1 is 'x', but this version reads r4p.task/1"),
        ([{"format": "r4p.task/1"}], "line 1 is no task"),
        ([TASK, TASK], "two tasks for the same issue"),
        ([], "none of the 0 tasks .* there are none"),
    ],
)
def test_a_file_that_is_no_list_of_tasks_is_refused_with_its_line(tmp_path, tasks, said):
    with pytest.raises(BadPlan, match=said):
        agent_tasks.read_tasks(written(tmp_path, *tasks))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadPlan, match="can't be read"):
        agent_tasks.read_tasks(tmp_path / "none")
    with pytest.raises(BadPlan, match="--material"):
        agent_tasks.read_tasks(None)
