"""Runs agents on a script, and checks each time what holds of every attempt."""

import pytest

from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.mini_se.mini_se import MiniSE
from model.agents.trajectories.trajectory_json import dump_trajectory, load_trajectory
from tests.builders.attempt_replay import replay_attempt
from tests.model.agents import agentless_replies
from tests.model.agents.builders import ISSUE, TREE, open_tool_context
from tests.model.fake_engines import RecordingEngine


@pytest.fixture
def attempt(tmp_path):
    """Runs a script on the tree and checks that the record, stored and read, can be carried out to the same bytes."""

    def run(*lines, tree=TREE, limits=None, context=32_768, **options):
        engine = RecordingEngine(*lines, context_tokens=context)
        with open_tool_context(tmp_path / "tree", tree) as tools:
            done = MiniSE(engine, limits=limits).propose(ISSUE, tools, seed=3, **options)
        raw = dump_trajectory(done.trajectory)
        with open_tool_context(tmp_path / "again", tree) as tools:
            assert dump_trajectory(replay_attempt(load_trajectory(raw), tools)) == raw
        return done, engine

    return run


@pytest.fixture
def pipeline(tmp_path):
    """Runs Agentless Mini on a script; its context is as before, every step is told, its record can be carried out again."""

    def run(*lines, tree=agentless_replies.TREE, context=32_768, plan=None, **options):
        engine = agentless_replies.CuttingEngine(*lines, context_tokens=context)
        told = []
        names = ("keep", "limits", "clock", "repair_prompt")
        made = {name: options.pop(name) for name in names if name in options}
        with open_tool_context(tmp_path / "tree", tree) as tools:
            agent = AgentlessMini(engine, plan=plan or SamplingPlan(2, 3), **made)
            done = agent.propose(ISSUE, tools, on_step=told.append, **{"seed": 3} | options)
            assert tools.workspace.list_changed() == ()
        raw = dump_trajectory(done.trajectory)
        with open_tool_context(tmp_path / "again", tree) as tools:
            assert dump_trajectory(replay_attempt(load_trajectory(raw), tools)) == raw
        assert tuple(told) == done.trajectory.steps
        return done, engine

    return run
