"""Runs agents on a script, and checks each time what holds of every attempt."""

import pytest

from model.agents.agentless.agentless_mini import AgentlessMini, Plan
from model.agents.mini_se.mini_se import MiniSE
from model.agents.replay import replayed
from model.agents.trajectories.trajectory_json import dumped, loaded
from tests.model.agents import agentless_replies
from tests.model.agents.builders import ISSUE, TREE, desk_on
from tests.model.fake_engines import Recording


@pytest.fixture
def attempt(tmp_path):
    """Runs a script on the tree and checks that the record, stored and read, can be carried out to the same bytes."""

    def run(*lines, tree=TREE, limits=None, context=32_768, **options):
        engine = Recording(*lines, context_tokens=context)
        with desk_on(tmp_path / "tree", tree) as desk:
            done = MiniSE(engine, limits=limits).propose(ISSUE, desk, seed=3, **options)
        raw = dumped(done.trajectory)
        with desk_on(tmp_path / "again", tree) as desk:
            assert dumped(replayed(loaded(raw), desk)) == raw
        return done, engine

    return run


@pytest.fixture
def pipeline(tmp_path):
    """Runs Agentless Mini on a script; its desk is as before, every step is told, its record can be carried out again."""

    def run(*lines, tree=agentless_replies.TREE, context=32_768, plan=None, **options):
        engine = agentless_replies.Cutting(*lines, context_tokens=context)
        told = []
        made = {name: options.pop(name) for name in ("keep", "limits", "clock") if name in options}
        with desk_on(tmp_path / "tree", tree) as desk:
            agent = AgentlessMini(engine, plan=plan or Plan(2, 3), **made)
            done = agent.propose(ISSUE, desk, on_step=told.append, **{"seed": 3} | options)
            assert desk.workspace.changed() == ()
        raw = dumped(done.trajectory)
        with desk_on(tmp_path / "again", tree) as desk:
            assert dumped(replayed(loaded(raw), desk)) == raw
        assert tuple(told) == done.trajectory.steps
        return done, engine

    return run
