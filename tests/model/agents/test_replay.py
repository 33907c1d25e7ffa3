"""A replay tells the truth about the tree it is on. That it is exact, each test of `test_mini_se` checks."""

from dataclasses import replace

import pytest

from model.agents.attempt_setup import digest
from model.agents.replay import Recorded, RecordedSamples, replayed
from model.agents.trajectories.trajectory import Stop
from model.errors import OtherTree, UnknownAgent
from tests.model.agents import agentless_replies
from tests.model.agents.builders import CODE, LOOK, MEND, SUBMIT, TREE, desk_on, make_trajectory


def test_another_tree_is_refused(attempt, tmp_path):
    done, _ = attempt(LOOK, MEND, SUBMIT)
    other = {**TREE, "pie/maths.py": CODE.replace("half", "halve")}
    with (
        desk_on(tmp_path / "other", other) as desk,
        pytest.raises(OtherTree, match=rf"{done.trajectory.tree}.*{desk.tree}"),
    ):
        replayed(done.trajectory, desk)


def test_a_tree_is_its_paths_and_what_is_there(tmp_path):
    def tree(name, files):
        with desk_on(tmp_path / name, files) as desk:
            return desk.tree

    first = tree("one", TREE)
    assert len(first) == 64
    assert tree("two", TREE) == first
    assert tree("three", TREE | {"pie/maths.py": CODE + "\n"}) != first
    assert tree("four", TREE | {"pie/more.txt": ""}) != first
    assert digest({"a": "b", "c": "d"}) == digest({"c": "d", "a": "b"})
    assert digest({"a": "bc"}) != digest({"ab": "c"})


def test_a_replay_that_goes_on_for_longer_ends(attempt, tmp_path):
    done, _ = attempt(MEND, SUBMIT)
    with desk_on(tmp_path / "other", {"README.md": "# Pie\n"}) as desk:
        again = replayed(replace(done.trajectory, tree=desk.tree), desk)
    assert again.stop is Stop.ENGINE
    assert "more than was recorded" in again.failure


def test_only_what_our_agents_recorded_is_replayed(tmp_path):
    with desk_on(tmp_path / "tree", TREE) as desk, pytest.raises(UnknownAgent, match="'other'"):
        replayed(make_trajectory(agent="other", tree=desk.tree), desk)


def test_a_recorded_engine_can_be_closed():
    engine = Recorded(make_trajectory())
    engine.close()
    assert engine.model == make_trajectory().engine.model


def test_a_pipeline_on_another_tree_is_another_record(pipeline, tmp_path):
    done, _ = pipeline(
        agentless_replies.MATHS,
        agentless_replies.MEND,
        agentless_replies.MEND,
        agentless_replies.MEND,
    )
    with desk_on(tmp_path / "other", agentless_replies.TREE | {"pie/more.py": "x = 1\n"}) as desk:
        again = replayed(replace(done.trajectory, tree=desk.tree), desk)
    assert again.patch == done.patch
    assert again.steps[0].prompt != done.trajectory.steps[0].prompt
    RecordedSamples(done.trajectory, ()).close()
