"""Tools over the chat API: offered, called, answered, and refused by servers that have none."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from model.engines.connection import DEFAULT_CONTEXT_TOKENS
from model.engines.scripted import ScriptedEngine, ScriptLine, load_script
from model.errors import EngineDown, EngineError, NoTools
from model.protocols import Completion, Message, Request, Tool, ToolCall
from tests.model.chat_server import Reply, build_choices, build_completion, serve_chat
from tests.model.engines.test_openai_compatible import ask, open_engine
from tests.services import wait_for

SCHEMA = {"type": "object", "properties": {"entity": {"type": "string"}}, "required": ["entity"]}
LOOK = Tool("look", "Shows code.", SCHEMA)
ASKED = ToolCall("call-1", "look", '{"entity": "f"}')
REQUEST = Request((Message("user", "fix it"),), 50, 1.0, 7, tools=(LOOK,), token_ids=True)
WIRE_CALL = {
    "id": "call-1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"entity": "f"}'},
}
NOT_SERVED = Reply(  # vLLM's words when it was started without --enable-auto-tool-choice
    {
        "error": {
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "type": "BadRequestError",
        }
    },
    400,
)
NO_IDS = Reply({"error": {"message": "Unrecognized request argument: return_token_ids"}}, 400)


def build_tool_reply(*calls, content=None, **extra):
    """An answer as vLLM writes it when its parser found calls."""
    reply = build_choices(content, finish_reason="tool_calls", **extra)
    reply.body["choices"][0]["message"]["tool_calls"] = list(calls)
    return reply


def test_tools_are_offered_and_calls_are_returned():
    with serve_chat(chat=[build_tool_reply(WIRE_CALL, token_ids=[5, 6, 7])]) as server:
        answers = ask(server, REQUEST)
    assert answers == [Completion("", True, 100, 64, 7, tool_calls=(ASKED,), token_ids=(5, 6, 7))]
    (body,) = server.list_bodies("/v1/chat/completions")
    offered = {"name": "look", "description": "Shows code.", "parameters": SCHEMA}
    assert body["tools"] == [{"type": "function", "function": offered}]
    assert body["return_token_ids"] is True
    assert "tool_choice" not in body, "auto is what servers take by themselves"


def test_a_conversation_shows_calls_and_their_answers():
    turns = (
        Message("user", "fix it"),
        Message("assistant", "hm", tool_calls=(ASKED,)),
        Message("tool", "def f(): ...", tool_call_id="call-1"),
    )
    with serve_chat(chat=[build_completion("ok")]) as server:
        ask(server, Request(turns, 50, 1.0, 7, tools=(LOOK,)))
    (body,) = server.list_bodies("/v1/chat/completions")
    assert body["messages"] == [
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": "hm", "tool_calls": [WIRE_CALL]},
        {"role": "tool", "content": "def f(): ...", "tool_call_id": "call-1"},
    ]
    assert "return_token_ids" not in body


@pytest.mark.parametrize("written", ['{"entity": ', "[1]", "", "7", '{"a":' * 20_000])
def test_invalid_arguments_are_sent_as_an_empty_object(written):
    turn = Message("assistant", "", tool_calls=(ToolCall("a", "look", written),))
    with serve_chat(chat=[build_completion("ok")]) as server:
        ask(server, Request((turn,), 50, 1.0, 7, tools=(LOOK,)))
    (body,) = server.list_bodies("/v1/chat/completions")
    assert body["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("given", "read"),
    [({"entity": "f"}, '{"entity": "f"}'), (None, "{}"), ("{bad", "{bad")],
)
def test_calls_without_ids_are_parsed(given, read):
    call = {"function": {"name": "look", "arguments": given}}
    reply = build_tool_reply(call, call)
    del reply.body["choices"][0]["message"]["content"]
    with serve_chat(chat=[reply]) as server:
        (answer,) = ask(server, REQUEST)
    assert answer.tool_calls == (ToolCall("call-0", "look", read), ToolCall("call-1", "look", read))
    assert answer.text == ""


def test_call_without_a_name_is_an_engine_error():
    with serve_chat(
        chat=[build_tool_reply({"id": "x", "function": {"arguments": "{}"}})]
    ) as server:
        (answer,) = ask(server, REQUEST)
    assert isinstance(answer, EngineError)
    assert "no chat completion" in str(answer)


def test_server_without_tools_is_recognised():
    with serve_chat(chat=[NOT_SERVED]) as server:
        (answer,) = ask(server, REQUEST)
    assert isinstance(answer, NoTools)
    assert "--enable-auto-tool-choice" in str(answer)


def test_other_refusals_are_not_about_tools():
    long = Reply({"error": {"message": "This model's maximum context length is 4096"}}, 400)
    with serve_chat(chat=[long]) as server:
        (answer,) = ask(server, REQUEST)
    assert isinstance(answer, EngineError)
    assert not isinstance(answer, NoTools)


def test_server_without_token_ids_is_asked_without_them_from_then_on():
    with (
        serve_chat(chat=[NO_IDS, build_tool_reply(WIRE_CALL)]) as server,
        open_engine(server.url) as engine,
    ):
        answers = [engine.complete([REQUEST])[0] for _ in range(2)]
    assert [answer.tool_calls for answer in answers] == [(ASKED,), (ASKED,)]
    asked = ["return_token_ids" in body for body in server.list_bodies("/v1/chat/completions")]
    assert asked == [True, False, False]


def test_server_without_token_ids_answers_every_request_that_it_refused_at_once():
    all_arrived = threading.Event()
    refusals = [replace(NO_IDS, wait_for=all_arrived) for _ in range(4)]
    requests = [replace(REQUEST, messages=(Message("user", f"fix {n}"),)) for n in range(4)]
    with (
        serve_chat(chat=[*refusals, build_tool_reply(WIRE_CALL)]) as server,
        open_engine(server.url) as engine,
        ThreadPoolExecutor(1) as pool,
    ):
        answering = pool.submit(engine.complete, requests)
        wait_for(lambda: server.together == 4, 20)
        all_arrived.set()
        assert [answer.tool_calls for answer in answering.result()] == [(ASKED,)] * 4


def test_script_calls_tools(tmp_path):
    path = tmp_path / "script.jsonl"
    calls = [{"name": "look", "arguments": {"entity": "f"}}, {"name": "look", "arguments": "{bad"}]
    path.write_text(json.dumps({"reply": "hm", "calls": calls}))
    (answer,) = load_script(path).complete([REQUEST])
    assert answer.text == "hm"
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        ("look", '{"entity": "f"}'),
        ("look", "{bad"),
    ]
    assert len({call.id for call in answer.tool_calls}) == 2
    assert ScriptedEngine([ScriptLine()]).context_tokens == DEFAULT_CONTEXT_TOKENS


def test_scripted_call_without_a_name_is_refused(tmp_path):
    path = tmp_path / "script.jsonl"
    path.write_text('{"calls": [{"arguments": {}}]}')
    with pytest.raises(EngineDown, match="line 1 is no answer \\(a call lacks 'name'\\)"):
        load_script(path)
