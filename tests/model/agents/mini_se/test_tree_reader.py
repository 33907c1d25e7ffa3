"""The agent that reads the code hands in a rubric, and can do nothing else."""

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest

from model.agents.mini_se.tree_reader import TOOLS, build_tree_source, read_rubric
from model.agents.trajectories.trajectory import StopReason
from model.domain import RubricKind, RubricLine
from model.voting.rubric import Rubric
from tests.model.agents.builders import (
    ISSUE,
    LOOK,
    MEND,
    TREE,
    build_trajectory,
    open_tool_context,
    script_call,
)
from tests.model.fake_engines import RecordingEngine

LINES = [{"kind": "file_change", "weight": 2, "text": "only `half` changes"}]
HAND_IN = script_call("submit_checklist", lines=LINES)
RUBRIC = Rubric(
    (RubricLine(RubricKind.FILE_CHANGE, 2, "only `half` changes"),), "the issue and the code"
)


def write(tmp_path, *lines):
    engine = RecordingEngine(*lines)
    with open_tool_context(tmp_path / "tree", TREE) as tools:
        source = build_tree_source(engine, lambda: nullcontext(tools))
        rubric = source.write(ISSUE, engine.complete)
        assert tools.workspace.list_changed() == ()
    return rubric, engine


def test_agent_reads_the_code_and_hands_a_rubric_in(tmp_path):
    rubric, engine = write(tmp_path, LOOK, HAND_IN)
    assert rubric == RUBRIC
    assert "return n // 2" in engine.requests[1].messages[-1].content
    assert {request.tools for request in engine.requests} == {TOOLS}
    assert {request.temperature for request in engine.requests} == {0.0}


def test_agent_asks_through_the_function_that_counts_its_tokens(tmp_path):
    engine, counting = RecordingEngine(), RecordingEngine(LOOK, HAND_IN)
    with open_tool_context(tmp_path / "tree", TREE) as tools:
        source = build_tree_source(engine, lambda: nullcontext(tools))
        assert source.write(ISSUE, counting.complete) == RUBRIC
    assert engine.requests == []


def test_agent_has_no_tool_that_edits(tmp_path):
    rubric, engine = write(tmp_path, MEND, HAND_IN)
    assert rubric == RUBRIC
    assert "There is no tool 'edit_tool'" in engine.requests[1].messages[-1].content


@pytest.mark.parametrize(
    "wrong", [[], [{"kind": "runtime"}], ["text"], [{**LINES[0], "weight": 9}]]
)
def test_checklist_without_a_valid_line_is_handed_back(tmp_path, wrong):
    rubric, engine = write(tmp_path, script_call("submit_checklist", lines=wrong), HAND_IN)
    assert rubric == RUBRIC
    assert "No line is valid" in engine.requests[1].messages[-1].content


def test_agent_that_hands_nothing_in_writes_no_rubric(tmp_path):
    rubric, _ = write(tmp_path, replace(LOOK, repeat=True))
    assert rubric is None


def test_engine_that_knows_no_tools_is_told_in_words(tmp_path):
    call = json.dumps({"name": "submit_checklist", "arguments": {"lines": LINES}})
    rubric, _ = write(tmp_path, replace(LOOK, calls=(), reply=f"Done.\n```json\n{call}\n```"))
    assert rubric == RUBRIC


def test_attempt_that_was_not_submitted_holds_no_rubric():
    attempt = build_trajectory(stop=StopReason.ROUNDS)
    assert read_rubric(attempt) is None
