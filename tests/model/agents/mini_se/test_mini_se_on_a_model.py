"""Mini-SE on a real small model (SmolLM2-135M) without tools: the loop holds, whatever the model makes of it."""

from contextlib import closing
from pathlib import Path

import pytest

from model import catalog
from model.agents.mini_se.mini_se import MiniSE
from model.agents.trajectories.trajectory import AttemptLimits, StopReason
from model.agents.trajectories.trajectory_json import dump_trajectory, load_trajectory
from model.catalog import EngineChoice
from tests.builders.attempt_replay import replay_attempt
from tests.model.agents.builders import ISSUE, TREE, open_tool_context

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]
MODEL = "smollm2-135m-instruct"
LIMITS = AttemptLimits(rounds=2, reply_tokens=12)


def test_two_rounds_are_recorded_and_replayed(tmp_path):
    cache = Path.home() / ".cache" / "r4p" / "models"
    choice = EngineChoice("local_transformers", model=MODEL, cache=cache)
    with (
        closing(catalog.load_engine(choice)) as engine,
        open_tool_context(tmp_path / "tree", TREE) as context,
    ):
        done = MiniSE(engine, limits=LIMITS).propose(ISSUE, context, seed=1)
    trajectory = done.trajectory
    assert trajectory.engine.model == MODEL
    assert trajectory.failure is None
    assert done.stop in {StopReason.ROUNDS, StopReason.SUBMITTED}
    assert all(step.answers and step.tokens.prompt > 500 for step in trajectory.steps)
    assert all(0 < len(step.token_ids) == step.tokens.completion for step in trajectory.steps)
    with open_tool_context(tmp_path / "again", TREE) as context:
        assert dump_trajectory(
            replay_attempt(load_trajectory(dump_trajectory(trajectory)), context)
        ) == dump_trajectory(trajectory)
