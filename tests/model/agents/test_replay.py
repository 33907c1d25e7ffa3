"""A replay tells the truth about the tree it is on. That it is exact, each test of `test_mini_se` checks."""

from dataclasses import replace

import pytest

from model.agents.attempt_setup import compute_tree_digest
from model.agents.replay import ReplayEngine, SampleReplayEngine, replay_attempt
from model.agents.trajectories.trajectory import StopReason
from model.errors import TreeMismatch, UnknownAgent
from tests.model.agents import agentless_replies
from tests.model.agents.builders import CODE, LOOK, MEND, SUBMIT, TREE, desk_on, make_trajectory


def test_another_tree_is_refused(attempt, tmp_path):
    done, _ = attempt(LOOK, MEND, SUBMIT)
    other = {**TREE, "pie/maths.py": CODE.replace("half", "halve")}
    with (
        desk_on(tmp_path / "other", other) as context,
        pytest.raises(TreeMismatch, match=rf"{done.trajectory.tree}.*{context.tree}"),
    ):
        replay_attempt(done.trajectory, context)


def test_a_tree_is_its_paths_and_what_is_there(tmp_path):
    def tree(name, files):
        with desk_on(tmp_path / name, files) as context:
            return context.tree

    first = tree("one", TREE)
    assert len(first) == 64
    assert tree("two", TREE) == first
    assert tree("three", TREE | {"pie/maths.py": CODE + "\n"}) != first
    assert tree("four", TREE | {"pie/more.txt": ""}) != first
    assert compute_tree_digest({"a": "b", "c": "d"}) == compute_tree_digest({"c": "d", "a": "b"})
    assert compute_tree_digest({"a": "bc"}) != compute_tree_digest({"ab": "c"})


def test_a_replay_that_goes_on_for_longer_ends(attempt, tmp_path):
    done, _ = attempt(MEND, SUBMIT)
    with desk_on(tmp_path / "other", {"README.md": "# Pie\n"}) as context:
        again = replay_attempt(replace(done.trajectory, tree=context.tree), context)
    assert again.stop is StopReason.ENGINE
    assert "more replies than were recorded" in again.failure


def test_only_what_our_agents_recorded_is_replayed(tmp_path):
    with desk_on(tmp_path / "tree", TREE) as context, pytest.raises(UnknownAgent, match="'other'"):
        replay_attempt(make_trajectory(agent="other", tree=context.tree), context)


def test_a_recorded_engine_can_be_closed():
    engine = ReplayEngine(make_trajectory())
    engine.close()
    assert engine.model == make_trajectory().engine.model


def test_a_pipeline_on_another_tree_is_another_record(pipeline, tmp_path):
    done, _ = pipeline(
        agentless_replies.MATHS,
        agentless_replies.MEND,
        agentless_replies.MEND,
        agentless_replies.MEND,
    )
    with desk_on(
        tmp_path / "other", agentless_replies.TREE | {"pie/more.py": "x = 1\n"}
    ) as context:
        again = replay_attempt(replace(done.trajectory, tree=context.tree), context)
    assert again.patch == done.patch
    assert again.steps[0].prompt != done.trajectory.steps[0].prompt
    SampleReplayEngine(done.trajectory, ()).close()
