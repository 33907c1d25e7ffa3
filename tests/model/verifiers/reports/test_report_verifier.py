"""The verifiers `review` and `test-report` read the decision in a report about one patch."""

import json

import pytest

from model import catalog
from model.domain import Issue, Verdict
from model.engines.scripted import ScriptLine
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("It breaks", "when the list is empty")
GOOD, BAD = build_patch("a", "return items or []"), build_patch("b", "raise ValueError")
REPLIES = {
    "review": (
        {"decision": {"recommendation": "approve"}, "summary": {"overall_assessment": "It works."}},
        {
            "decision": {"recommendation": "request_changes"},
            "summary": {"overall_assessment": "It raises."},
        },
    ),
    "test-report": (
        {"test_report": "It works.", "reward": 1},
        {"test_report": "It raises.", "reward": 0},
    ),
}
NAMES = list(REPLIES)


def judge(name, *lines, votes=1, patches=(GOOD, BAD), **options):
    engine = RecordingEngine(*lines)
    verifier = catalog.load_verifier(name, engine, **options)
    return engine, verifier.verify(ISSUE, patches, votes=votes)


def script(name):
    good, bad = (json.dumps(reply) for reply in REPLIES[name])
    return (
        ScriptLine(when="return items", reply=good, repeat=True),
        ScriptLine(when="raise ValueError", reply=bad, repeat=True),
    )


@pytest.mark.parametrize("name", NAMES)
def test_decision_becomes_the_verdict_with_the_reasons(name):
    engine, verdict = judge(name, *script(name), votes=2)
    good, bad = verdict.patches
    assert (good.verdict, bad.verdict) == (Verdict.CORRECT, Verdict.INCORRECT)
    assert (good.score, bad.score) == (1.0, 0.0)
    assert good.reason == "2 of 2 reports hold it correct. It works."
    assert bad.reason == "0 of 2 reports hold it correct. It raises."
    assert len(engine.requests) == 4


@pytest.mark.parametrize("name", NAMES)
def test_reply_without_a_decision_is_unknown_and_not_continued(name):
    engine, verdict = judge(name, ScriptLine(reply="It looks fine to me.", repeat=True))
    assert {patch.score for patch in verdict.patches} == {None}
    assert {patch.votes.none for patch in verdict.patches} == {1}
    assert len(engine.requests) == 2
    assert not any(request.prefill for request in engine.requests)


@pytest.mark.parametrize(("name", "temperature"), [("review", 1.0), ("test-report", 0.7)])
def test_judge_is_sampled_as_its_authors_do(name, temperature):
    engine, _ = judge(name, *script(name))
    assert {request.temperature for request in engine.requests} == {temperature}


@pytest.mark.parametrize(("name", "tokens"), [("review", 4096), ("test-report", 8192)])
def test_report_has_room_for_its_thoughts(name, tokens):
    engine, _ = judge(name, *script(name))
    assert {request.max_tokens for request in engine.requests} == {tokens}
    engine, _ = judge(name, *script(name), reply_tokens=99)
    assert {request.max_tokens for request in engine.requests} == {99}


def test_judges_with_one_prompt_form_share_no_votes():
    engine = RecordingEngine()
    prints = {
        catalog.load_verifier(name, engine).engine.prompt_fingerprint
        for name in ("review", "test-report", "pointwise")
    }
    assert len(prints) == 3


@pytest.mark.parametrize("name", ["pairwise", "swiss"])
def test_pair_judge_may_answer_with_a_letter(name):
    """The last line of a judge that was trained on R4P's appendix B.3."""
    line = ScriptLine(reply="Both change the guard. [[A]]", repeat=True)
    engine, verdict = judge(name, line, votes=1)
    assert len(engine.requests) == 2
    assert {patch.votes.valid for patch in verdict.patches} == {2}
    assert {patch.score for patch in verdict.patches} == {0.5}
