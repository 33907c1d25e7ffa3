"""The reviewer reads the code by name and hands in a decision; the verifier `review` counts it as a vote."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from model import catalog
from model.agents.mini_se.tree_reviewer import TOOLS, TreeReviewer
from model.domain import Issue, Verdict
from model.engines.scripted import ScriptLine
from model.errors import EngineDown
from model.verifiers.reports.rubric_source import TreeReaders
from tests.model.agents.builders import LOOK, MEND, TREE, open_tool_context, script_call
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("Halving is off", "`half` of 3 should be 1.5")
GOOD, BAD = build_patch("a", "return n / 2"), build_patch("b", "return n")
APPROVE = script_call("submit_review", decision="approve", summary="`half` divides now.")
REFUSE = script_call("submit_review", decision="request_changes", summary="`half` is the identity.")


def judge(tmp_path, *lines, patches=(GOOD, BAD), name="review"):
    engine = RecordingEngine(*lines)
    with open_tool_context(tmp_path / "tree", TREE) as tools:
        readers = TreeReaders(reviewer=TreeReviewer(engine, lambda: nullcontext(tools)))
        verdict = catalog.load_verifier(name, engine, readers=readers).verify(
            ISSUE, patches, votes=1
        )
        assert tools.workspace.list_changed() == ()
    return engine, verdict


def test_review_is_handed_in_after_the_code_was_read(tmp_path):
    engine, verdict = judge(tmp_path, LOOK, APPROVE, patches=[GOOD])
    assert verdict.patches[0].verdict is Verdict.CORRECT
    assert verdict.patches[0].reason == "1 of 1 reports hold it correct. `half` divides now."
    assert "return n // 2" in engine.requests[1].messages[-1].content
    assert "return n / 2" in engine.requests[0].messages[1].content
    assert {request.tools for request in engine.requests} == {TOOLS}
    assert verdict.tokens.prompt > 0


def test_each_patch_has_its_own_conversation(tmp_path):
    lines = [replace(APPROVE, when="return n / 2"), replace(REFUSE, when="+return n\n")]
    _, verdict = judge(tmp_path, *lines)
    assert [patch.verdict for patch in verdict.patches] == [Verdict.CORRECT, Verdict.INCORRECT]


@pytest.mark.parametrize(
    "wrong",
    [
        MEND,
        script_call("submit_review", decision="merge", summary=""),
        script_call("submit_review"),
    ],
    ids=["edits", "another decision", "no arguments"],
)
def test_wrong_call_is_explained_and_the_review_goes_on(tmp_path, wrong):
    engine, verdict = judge(tmp_path, wrong, REFUSE, patches=[GOOD])
    assert len(engine.requests) == 2
    assert verdict.patches[0].verdict is Verdict.INCORRECT


def test_conversation_without_a_review_is_unknown(tmp_path):
    _, verdict = judge(tmp_path, ScriptLine(reply="Fine!", repeat=True), patches=[GOOD])
    assert verdict.patches[0].score is None
    assert verdict.patches[0].votes.none == 1


def test_engine_that_fails_for_one_patch_is_unknown(tmp_path):
    lines = [replace(APPROVE, when="return n / 2"), ScriptLine(fail="too busy", when="+return n\n")]
    _, verdict = judge(tmp_path, *lines)
    assert [patch.verdict for patch in verdict.patches] == [Verdict.CORRECT, Verdict.UNSURE]
    assert verdict.patches[1].score is None


@pytest.mark.parametrize(
    "line", [ScriptLine(fail="too busy"), ScriptLine(down="connection refused")]
)
def test_engine_that_answers_nobody_is_down(tmp_path, line):
    with pytest.raises(EngineDown, match=r"too busy|connection refused"):
        judge(tmp_path, replace(line, repeat=True))


def test_review_with_the_code_is_another_judge(tmp_path):
    engine, verdict = judge(tmp_path, APPROVE, patches=[GOOD])
    alone = catalog.load_verifier("review", engine).engine
    assert verdict.engine.prompt_fingerprint != alone.prompt_fingerprint
    assert verdict.engine.model == alone.model


def test_other_part_of_a_hybrid_asks_the_engine_itself(tmp_path):
    box = ScriptLine(when="boxed", box_containing=("return n / 2",), repeat=True)
    engine, _ = judge(tmp_path, box, replace(APPROVE, repeat=True), name="hybrid:r4p+review")
    assert not engine.requests[0].tools
    assert engine.requests[-1].tools == TOOLS
