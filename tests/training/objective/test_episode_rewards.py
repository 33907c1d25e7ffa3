import json
from itertools import product

import pytest

from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue, VoteCount
from training.datasets import agent_tasks
from training.objective.episode_rewards import EpisodeReward, decide_majority, reward_episode
from training.plans.plan import BadPlan, OverlongHandling


@pytest.mark.parametrize(
    ("stop", "believed", "overlong", "expected"),
    [
        ("SUBMITTED", 0.75, "KEEP", (0.75, True)),
        ("SUBMITTED", None, "KEEP", (None, False)),
        ("SUBMITTED", 0.0, "MASK", (0.0, True)),
        ("SUBMITTED", None, "MASK", (None, False)),
        ("MALFORMED", None, "KEEP", (0.0, True)),
        ("MALFORMED", None, "MASK", (0.0, True)),
        ("NONE_KEPT", None, "KEEP", (0.0, True)),
        ("NONE_KEPT", None, "MASK", (0.0, True)),
        ("ROUNDS", None, "KEEP", (0.0, True)),
        ("ROUNDS", None, "MASK", (0.0, False)),
        ("TOKENS", None, "KEEP", (0.0, True)),
        ("TOKENS", None, "MASK", (0.0, False)),
        ("TIMEOUT", None, "KEEP", (None, False)),
        ("TIMEOUT", None, "MASK", (None, False)),
        ("ENGINE", None, "KEEP", (None, False)),
        ("ENGINE", None, "MASK", (None, False)),
    ],
)
def test_end_of_an_episode_decides_its_reward(stop, believed, overlong, expected):
    reward = reward_episode(StopReason[stop], believed, OverlongHandling[overlong])
    assert reward == EpisodeReward(expected[0], is_trained_on=expected[1])


def list_majorities(correct, incorrect, failed):
    """The results of all answers that the failed votes could have had: correct, incorrect or unreadable."""
    for answers in product(("correct", "incorrect", "unreadable"), repeat=failed):
        yes, no = correct + answers.count("correct"), incorrect + answers.count("incorrect")
        yield 1.0 if yes + no and yes / (yes + no) > 0.5 else 0.0


@pytest.mark.parametrize(
    ("correct", "incorrect", "unreadable", "failed", "expected"),
    [
        (3, 2, 0, 0, 1.0),
        (2, 3, 0, 0, 0.0),
        (2, 2, 1, 0, 0.0),  # a half is no majority
        (1, 0, 4, 0, 1.0),  # the share of the readable votes, as the authors count
        (0, 0, 5, 0, 0.0),
        (0, 0, 0, 5, None),
        (3, 0, 0, 2, 1.0),  # 3 of 5 at least
        (2, 0, 0, 3, None),
        (2, 2, 0, 1, None),
        (1, 3, 0, 1, 0.0),
        (0, 0, 0, 0, 0.0),
    ],
)
def test_majority_is_unknown_only_when_failed_votes_could_change_it(
    correct, incorrect, unreadable, failed, expected
):
    assert decide_majority(VoteCount(correct, incorrect, unreadable + failed), failed) == expected


def test_majority_agrees_with_every_answer_of_the_failed_votes():
    for correct, incorrect, failed in product(range(4), range(4), range(4)):
        results = set(list_majorities(correct, incorrect, failed))
        expected = results.pop() if len(results) == 1 else None
        assert decide_majority(VoteCount(correct, incorrect, failed), failed) == expected


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
