"""Engines with and without tools look alike to an agent."""

from contextlib import closing

import pytest

from model.agents.mini_se.tool_engine import ToolEngine
from model.engines.openai_compatible import connect
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import EngineDown, EngineError, NoTools
from model.protocols import Message, Request, Tool, ToolCall
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.engines.test_openai_compatible_tools import NOT_SERVED, WIRE_CALL, build_tool_reply
from tests.model.fake_engines import RecordingEngine

LOOK = Tool("look", "Shows code.", {"type": "object", "properties": {}})
FENCED = 'Hm.\n```json\n{"name": "look", "arguments": {"entity": "f"}}\n```'
REQUEST = Request((Message("user", "mend it"),), 50, 1.0, 7, tools=(LOOK,))


class WithoutTools(RecordingEngine):
    """Refuses requests with tools, as the engines on this machine do."""

    def _answer(self, request):
        return NoTools("none here") if request.tools else super()._answer(request)


def test_server_with_tools_is_sent_the_tools():
    with serve_chat(models=[MODELS], chat=[build_tool_reply(WIRE_CALL, content=FENCED)]) as server:
        with closing(ToolEngine(connect(server.url, None))) as engine:
            (answer,) = engine.complete([REQUEST])
        assert "tools" in server.list_bodies("/v1/chat/completions")[0]
    assert answer.tool_calls == (ToolCall("call-1", "look", '{"entity": "f"}'),)


def test_server_without_tools_is_asked_in_text_from_then_on():
    replies = [NOT_SERVED, build_completion(FENCED)]
    with serve_chat(models=[MODELS], chat=replies) as server:
        with closing(ToolEngine(connect(server.url, None))) as engine:
            answers = [engine.complete([REQUEST])[0] for _ in range(2)]
        bodies = server.list_bodies("/v1/chat/completions")
    assert [one.tool_calls for one in answers] == [
        (ToolCall("call-0", "look", '{"entity": "f"}'),)
    ] * 2
    assert ["tools" in body for body in bodies] == [True, False, False]
    assert "### look" in bodies[1]["messages"][0]["content"]


def test_call_left_in_the_text_is_parsed():
    engine = ToolEngine(ScriptedEngine([ScriptLine(reply=FENCED)]))
    turns = (Message("assistant", "", (ToolCall("call-0", "look", "{}"),)), *REQUEST.messages)
    (answer,) = engine.complete([Request(turns, 50, 1.0, 7, tools=(LOOK,))])
    assert answer.tool_calls == (ToolCall("call-1", "look", '{"entity": "f"}'),)
    assert answer.text == FENCED


def test_request_without_tools_is_unchanged():
    inner = WithoutTools(ScriptLine(reply=FENCED, repeat=True))
    engine = ToolEngine(inner)
    engine.complete([REQUEST])
    plain = Request((Message("user", "hello"),), 50, 1.0, 7)
    (answer,) = engine.complete([plain])
    assert answer.tool_calls == ()
    assert inner.requests[-1] == plain


def test_engine_failures_are_passed_on():
    engine = ToolEngine(WithoutTools(ScriptLine(fail="boom"), ScriptLine(down="gone")))
    (answer,) = engine.complete([REQUEST])
    assert isinstance(answer, EngineError)
    assert str(answer) == "boom"
    with pytest.raises(EngineDown, match="gone"):
        engine.complete([REQUEST])


def test_tool_engine_has_the_facts_of_its_engine():
    inner = ScriptedEngine([], context_tokens=99)
    engine = ToolEngine(inner)
    engine.close()
    assert (engine.name, engine.model, engine.context_tokens) == ("scripted", "script", 99)
    assert engine.count_tokens("eight ch") == inner.count_tokens("eight ch")
