"""A stored trajectory is the same bytes however often it is read and written."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.agents.trajectories.guidance import Guidance, HintSource
from model.agents.trajectories.trajectory import StopReason, build_conversation
from model.agents.trajectories.trajectory_json import dump_trajectory, load_trajectory
from model.domain import Tokens
from model.errors import BadTrajectory
from model.protocols import Message, ToolCall
from tests.model.agents.builders import build_attempt, build_step, build_trajectory

BYTES = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, exclude_categories=())
TEXTS = st.text(st.characters() | BYTES)
"""With bytes that are no UTF-8, as a tree may hold them."""
CALLS = st.builds(ToolCall, TEXTS, TEXTS, TEXTS)
MESSAGES = st.builds(Message, TEXTS, TEXTS, st.lists(CALLS).map(tuple), st.none() | TEXTS)
STEPS = st.builds(
    build_step,
    reply=MESSAGES,
    answers=st.lists(MESSAGES).map(tuple),
    seconds=st.floats(0, 1e6),
    token_ids=st.lists(st.integers(0, 2**20)).map(tuple),
    finished=st.booleans(),
    malformed=st.booleans(),
    prompt=st.lists(MESSAGES).map(tuple),
)
HINTS = st.builds(
    Guidance, TEXTS, TEXTS, st.lists(TEXTS).map(tuple), st.sampled_from(HintSource), TEXTS
)
TRAJECTORIES = st.builds(
    build_trajectory,
    steps=st.lists(STEPS, max_size=3).map(tuple),
    stop=st.sampled_from(StopReason),
    patch=st.none() | TEXTS,
    failure=st.none() | TEXTS,
    guidance=st.none() | HINTS,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TRAJECTORIES)
def test_trajectory_survives_a_round_trip(trajectory):
    raw = dump_trajectory(trajectory)
    assert raw.isascii()
    assert raw.count(b"\n") == 1
    assert load_trajectory(raw) == trajectory
    assert dump_trajectory(load_trajectory(raw)) == raw


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "Expecting value"),
        (b"\xff", "codec"),
        (b"[]", "not the record"),
        (b"{}", "no r4p.trajectory/1"),
        (b'{"format": "r4p.trajectory/9"}', "no r4p.trajectory/1"),
        (b'{"format": "r4p.trajectory/1"}', "engine"),
    ],
)
def test_invalid_document_is_refused(raw, why):
    with pytest.raises(BadTrajectory, match=why):
        load_trajectory(raw)


@pytest.mark.parametrize(
    ("field", "value"), [("stop", "bored"), ("more", 1), ("steps", [{}]), ("limits", {"bad": 1})]
)
def test_unexpected_field_value_is_refused(field, value):
    document = json.loads(dump_trajectory(build_trajectory())) | {field: value}
    with pytest.raises(BadTrajectory):
        load_trajectory(json.dumps(document).encode())


def test_conversation_is_the_opening_and_the_steps():
    trajectory = build_trajectory(steps=(build_step(), build_step()))
    roles = [one.role for one in build_conversation(trajectory.opening, trajectory.steps)]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


def test_attempt_sums_the_cost_of_its_steps():
    attempt = build_attempt(
        steps=(build_step(), build_step()), patch="diff", stop=StopReason.SUBMITTED
    )
    assert attempt.tokens == Tokens(200, 128, 14)
    assert (attempt.rounds, attempt.patch, attempt.stop) == (2, "diff", StopReason.SUBMITTED)
