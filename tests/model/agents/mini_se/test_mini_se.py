"""Mini-SE's loop on a real tree with real tools, its model a script: every way through, and every way out."""

import json
from dataclasses import replace

import pytest

from model.agents.mini_se.mini_se import MiniSE, fingerprint_wording
from model.agents.tools.toolbox import TOOLS
from model.agents.trajectories.trajectory import AttemptLimits, StopReason, build_conversation
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import Cancelled
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints
from model.protocols import Completion
from tests.model.agents.builders import (
    CODE,
    ISSUE,
    LONG,
    LOOK,
    MEND,
    SUBMIT,
    TREE,
    open_tool_context,
    script_call,
)


def list_answers(attempt):
    """What the model was told, in order."""
    return [one.content for step in attempt.trajectory.steps for one in step.answers]


def test_search_edit_and_submission_make_a_patch(attempt):
    done, _ = attempt(replace(LOOK, reply="Where is it?"), MEND, SUBMIT)
    assert done.stop is StopReason.SUBMITTED
    assert "-    return n // 2\n+    return n / 2\n" in done.patch
    assert done.rounds == 3
    code, edited, end = list_answers(done)
    assert "pie/maths.py" in code
    assert "return n // 2" in code
    assert "n / 2" in edited
    assert end == "The patch was handed in."
    assert not any(step.malformed for step in done.trajectory.steps)
    assert done.trajectory.steps[0].reply.content == "Where is it?"
    assert done.tokens.prompt > 0


def test_request_holds_the_conversation_so_far(attempt):
    done, engine = attempt(LOOK, MEND, SUBMIT)
    steps, opening = done.trajectory.steps, done.trajectory.opening
    for at, request in enumerate(engine.requests):
        assert request.messages == build_conversation(opening, steps[:at])
        assert request.tools == TOOLS
        assert request.temperature == 1.0
        assert request.token_ids
    assert [request.seed for request in engine.requests] == [300, 301, 302]
    assert "<issue>\nHalving is off\n\n`half` of 3 should be 1.5" in opening[1].content


def test_attempt_writes_nothing_to_the_directory(attempt, tmp_path):
    attempt(LOOK, MEND, SUBMIT)
    found = {str(one.relative_to(tmp_path / "tree")) for one in (tmp_path / "tree").rglob("*.*")}
    assert found == set(TREE)
    assert (tmp_path / "tree" / "pie" / "maths.py").read_text() == CODE


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("search_tool", "{bad"), "no JSON"),
        (("bash", '{"command": "ls"}'), "no tool"),
    ],
)
def test_invalid_call_is_explained_and_counted_as_malformed(attempt, call, why):
    done, _ = attempt(ScriptLine(calls=(call,)), MEND, SUBMIT)
    assert done.stop is StopReason.SUBMITTED
    assert why in list_answers(done)[0]
    assert [step.malformed for step in done.trajectory.steps] == [True, False, False]


def test_reply_without_a_call_is_answered_with_the_tools(attempt):
    done, _ = attempt(ScriptLine(reply="I think it is fixed."), MEND, SUBMIT)
    first = done.trajectory.steps[0]
    assert first.malformed
    (answer,) = first.answers
    assert answer.role == "user"
    assert "search_tool, edit_tool, patch_submission" in answer.content


def test_fenced_json_calls_are_carried_out(attempt):
    def fence(line):
        ((name, arguments),) = line.calls
        call = json.dumps({"name": name, "arguments": json.loads(arguments)})
        return ScriptLine(reply=f"So:\n```json\n{call}\n```")

    done, _ = attempt(*map(fence, (LOOK, MEND, SUBMIT)))
    assert done.stop is StopReason.SUBMITTED
    assert "+    return n / 2" in done.patch


def test_attempt_ends_after_too_many_replies_without_a_call(attempt):
    done, _ = attempt(MEND, ScriptLine(reply="hm", repeat=True))
    assert done.stop is StopReason.MALFORMED
    assert done.rounds == 1 + AttemptLimits().malformed
    assert done.patch is None


def test_valid_call_resets_the_count_of_malformed_replies(attempt):
    talk = [ScriptLine(reply="hm")] * 4
    done, _ = attempt(*talk, LOOK, *talk, MEND, SUBMIT)
    assert done.stop is StopReason.SUBMITTED


def test_attempt_ends_with_its_rounds(attempt):
    done, engine = attempt(replace(LOOK, repeat=True), limits=AttemptLimits(rounds=9))
    assert done.stop is StopReason.ROUNDS
    assert len(engine.requests) == done.rounds == 9
    assert done.patch is None


def test_attempt_ends_when_the_token_limit_is_reached(attempt):
    done, engine = attempt(replace(LOOK, repeat=True), tree=LONG)
    assert done.stop is StopReason.TOKENS
    last = engine.requests[-1]
    used = sum(engine.count_tokens(one.content) for one in last.messages)
    assert used + last.max_tokens <= 28_000
    assert 1 < done.rounds < 50


def test_small_context_lowers_the_token_limit(attempt):
    done, engine = attempt(replace(LOOK, repeat=True), tree=LONG, context=8_000)
    assert done.stop is StopReason.TOKENS
    assert done.trajectory.limits.tokens == 8_000 - 256
    assert all(request.max_tokens < 8_000 for request in engine.requests)


def test_issue_that_leaves_no_room_sends_no_request(attempt):
    done, engine = attempt(LOOK, context=900)
    assert (done.stop, done.rounds, engine.requests) == (StopReason.TOKENS, 0, [])


def test_empty_patch_is_refused_and_the_attempt_goes_on(attempt):
    there = script_call("edit_tool", path="pie/maths.py", old_str="n // 2", new_str="n >> 1")
    back = script_call("edit_tool", path="pie/maths.py", old_str="n >> 1", new_str="n // 2")
    done, _ = attempt(SUBMIT, there, back, SUBMIT, MEND, SUBMIT)
    assert [
        at for at, text in enumerate(list_answers(done)) if "Nothing was handed in" in text
    ] == [0, 3]
    assert done.stop is StopReason.SUBMITTED


def test_long_answer_is_paged_within_the_limit(attempt):
    huge = {"pie/maths.py": "def half(n):\n" + "    n = 'crust'\n" * 20_000 + "    return n // 2\n"}
    done, _ = attempt(LOOK, MEND, SUBMIT, tree=huge, limits=AttemptLimits(answer_characters=3_000))
    assert max(map(len, list_answers(done))) <= 3_000
    assert done.stop is StopReason.SUBMITTED
    assert "(page 1 of " in list_answers(done)[0]
    assert "characters left out" not in list_answers(done)[0]


def test_answer_of_one_long_line_loses_its_middle(attempt):
    line = {"pie/maths.py": f"def half(n): return n // 2  # {'crust ' * 400}\n"}
    done, _ = attempt(LOOK, SUBMIT, tree=line, limits=AttemptLimits(answer_characters=1_000))
    assert max(map(len, list_answers(done))) < 1_100
    assert "characters left out" in list_answers(done)[0]


def test_calls_of_one_reply_are_carried_out_in_order(attempt):
    every = ScriptLine(calls=LOOK.calls + MEND.calls + SUBMIT.calls + LOOK.calls)
    done, _ = attempt(every)
    assert done.stop is StopReason.SUBMITTED
    (step,) = done.trajectory.steps
    names = [call.name for call in step.reply.tool_calls]
    assert names == ["search_tool", "edit_tool", "patch_submission"], "none after the submission"
    assert [one.tool_call_id for one in step.answers] == [one.id for one in step.reply.tool_calls]


def test_calls_beyond_eight_in_a_reply_are_refused(attempt):
    done, _ = attempt(ScriptLine(calls=LOOK.calls * 20), MEND, SUBMIT)
    answers = done.trajectory.steps[0].answers
    assert len(answers) == 20
    assert [one.content for one in answers[8:]] == ["Not done: one reply may hold 8 calls."] * 12


@pytest.mark.parametrize("how", ["down", "fail"])
def test_failing_engine_stops_the_attempt_after_the_rounds_so_far(attempt, how):
    done, _ = attempt(LOOK, MEND, ScriptLine(**{how: "the engine is gone"}))
    assert (done.stop, done.trajectory.failure) == (StopReason.ENGINE, "the engine is gone")
    assert (done.rounds, done.patch) == (2, None)


def test_unexpected_engine_exception_reaches_the_caller(tmp_path):
    class Broken(ScriptedEngine):
        def complete(self, requests):
            raise ZeroDivisionError(len(requests))

    with open_tool_context(tmp_path / "tree", TREE) as context, pytest.raises(ZeroDivisionError):
        MiniSE(Broken([])).propose(ISSUE, context, seed=0)


def test_tool_descriptions_are_part_of_the_prompt_fingerprint(attempt):
    done, _ = attempt(MEND, SUBMIT)
    search, edit, submit = TOOLS
    other = (search, edit, replace(submit, description="Hand it in."))
    assert fingerprint_wording(other) != fingerprint_wording(TOOLS)
    template = prompt_template.load("mini_se").fingerprint
    assert done.trajectory.engine.prompt_fingerprint == combine_fingerprints(
        template, fingerprint_wording(TOOLS)
    )


def test_cut_reply_is_answered_as_cut_off(tmp_path):
    class Cut(ScriptedEngine):
        def complete(self, requests):
            return [Completion("Let me think", False, 10, 0, 4) for _ in requests]

    with open_tool_context(tmp_path / "tree", TREE) as context:
        done = MiniSE(Cut([]), limits=AttemptLimits(rounds=1)).propose(ISSUE, context, seed=0)
    assert "cut off" in list_answers(done)[0]
    assert not done.trajectory.steps[0].finished


def test_step_keeps_the_token_ids(tmp_path):
    class Telling(ScriptedEngine):
        def complete(self, requests):
            return [replace(one, token_ids=(1, 2)) for one in super().complete(requests)]

    with open_tool_context(tmp_path / "tree", TREE) as context:
        done = MiniSE(Telling([MEND, SUBMIT])).propose(ISSUE, context, seed=0)
    assert [step.token_ids for step in done.trajectory.steps] == [(1, 2), (1, 2)]


def test_exception_in_on_step_ends_the_attempt(attempt):
    def stop(step):
        raise Cancelled(step.reply.tool_calls[0].name)

    with pytest.raises(Cancelled, match="search_tool"):
        attempt(LOOK, MEND, SUBMIT, on_step=stop)
