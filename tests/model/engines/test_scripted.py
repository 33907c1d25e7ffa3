"""The scripted engine: determinate by content, and able to fail in every way."""

import json
import re
from dataclasses import replace

import pytest

from model.engines.scripted import ScriptedEngine, ScriptLine, load_script
from model.errors import BadEngine, EngineDown, EngineError, EngineTimeout
from model.protocols import Message, Request

PROMPT = "<patch-1>\nfoo\n</patch-1>\n\n<patch-2>\nbar foo\n</patch-2>\n\n<patch-3>\n\n</patch-3>"


def ask(engine, text=PROMPT, prefill=None):
    (answer,) = engine.complete([Request((Message("user", text),), 10, 1.0, 0, prefill)])
    return answer if isinstance(answer, EngineError) else answer.text


def test_lines_answer_in_order_and_are_used_up():
    engine = ScriptedEngine([ScriptLine(reply="one"), ScriptLine(reply="two", repeat=True)])
    assert [ask(engine) for _ in range(3)] == ["one", "two", "two"]


def test_stalled_request_ends_with_its_time_limit():
    engine = ScriptedEngine([ScriptLine(reply="late", stall_seconds=60, repeat=True)])
    hasty = Request((Message("user", "x"),), 10, 1.0, 0, seconds=0.01)
    (answer,) = engine.complete([hasty])
    assert isinstance(answer, EngineTimeout)
    assert hasty == replace(hasty, seconds=None), "patience is no part of the question"


def test_line_waits_for_a_prompt_with_its_text():
    engine = ScriptedEngine(
        [ScriptLine(when="secret", reply="found"), ScriptLine(reply="else", repeat=True)]
    )
    assert ask(engine) == "else"
    assert ask(engine, "a secret") == "found"


@pytest.mark.parametrize(
    ("texts", "box"), [(("foo",), "1, 2"), (("bar",), "2"), ((), ""), (("baz", "bar"), "2")]
)
def test_seats_are_boxed_by_the_text_of_their_patch(texts, box):
    assert ask(ScriptedEngine([ScriptLine(box_containing=texts)])) == f"\n\\boxed{{{box}}}"
    assert ask(ScriptedEngine([ScriptLine(box_containing=texts)]), prefill="\\boxed{") == f"{box}}}"


def test_line_can_fail_a_request_or_the_engine():
    assert str(ask(ScriptedEngine([ScriptLine(fail="boom")]))) == "boom"
    with pytest.raises(EngineDown, match="gone"):
        ask(ScriptedEngine([ScriptLine(down="gone")]))


def test_used_up_script_is_a_dead_engine():
    with pytest.raises(EngineDown, match="no line left"):
        ask(ScriptedEngine([]))


def test_script_is_loaded_from_json_lines(tmp_path):
    path = tmp_path / "script.jsonl"
    lines = [{"reply": "one"}, {"reply": "so", "box_containing": ["foo"], "repeat": True}]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    engine = load_script(path)
    assert ask(engine) == "one"
    assert ask(engine) == "so\n\\boxed{1, 2}"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("hello", "no JSON: expecting value at column 1"),
        ("{", "no JSON: .* at column 2"),
        ('{"rely": "x"}', "unknown field 'rely'"),
        ("[1]", "JSON, but no object"),
        ('{"box_containing": 3}', "'int' object is not iterable"),
    ],
)
def test_bad_line_is_named_with_the_expected_form(tmp_path, bad, why):
    path = tmp_path / "script.jsonl"
    path.write_text('{"reply": "fine"}\n' + bad)
    expected = rf"script\.jsonl, line 2 is no answer \({why}\); write one JSON object a line, as"
    with pytest.raises(BadEngine, match=expected):
        load_script(path)


def test_example_in_the_error_is_valid(tmp_path):
    path = tmp_path / "script.jsonl"
    path.write_text("hello")
    with pytest.raises(BadEngine) as failure:
        load_script(path)
    path.write_text(re.search(r"as (\{.*\}); its fields", str(failure.value)).group(1))
    assert ask(load_script(path)) == "Patch 1 is right. \\boxed{1}"


def test_missing_script_is_named(tmp_path):
    with pytest.raises(BadEngine, match=r"none\.jsonl can't be read \(No such file or directory\)"):
        load_script(tmp_path / "none.jsonl")
