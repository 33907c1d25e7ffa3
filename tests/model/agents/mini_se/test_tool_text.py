"""Tools in words: what is described, and what is read out of a reply."""

import json

import pytest

from model.agents.mini_se.tool_text import parse_calls, rewrite_request
from model.protocols import Message, Request, Tool, ToolCall

LOOK = Tool(
    "look",
    "Shows code.",
    {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["class", "function"], "description": "Of what."},
            "entity": {"type": "string", "description": "Its name."},
            "more": {"description": "Whatever."},
        },
        "required": ["kind", "entity"],
    },
)
END = Tool("end", "Ends it.", {"type": "object"})
CALL = '{"name": "look", "arguments": {"entity": "f"}}'
READ = ("look", '{"entity": "f"}')


def list_calls(text):
    return [(call.name, call.arguments) for call in parse_calls(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"Look first.\n```json\n{CALL}\n```",
        f"```\n{CALL}\n```\nand so on",
        f"```tool\n\n  {CALL}",
        f"<think>hm</think>\n{CALL}\n",
        CALL,
        f"so <tool_call>\n{CALL}\n</tool_call>",
        '```json\n{"tool": "look", "parameters": {"entity": "f"}}\n```',
        '```json\n{"name": "look", "arguments": "{\\"entity\\": \\"f\\"}"}\n```',
        f"<think>perhaps\n```json\n{{}}\n``` no</think>\n```json\n{CALL}\n```",
    ],
)
def test_call_is_parsed_from_any_fence(text):
    assert list_calls(text) == [READ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no call at all",
        f"so {CALL}",
        "```python\nprint({})\n```",
        '```json\n{"entity": "f"}\n```',
        '```json\n{"name": 7, "arguments": {}}\n```',
        '```json\n{"entity": \n```',
        "<tool_call>[1, 2]</tool_call>",
        f"<think>\n```json\n{CALL}\n```</think> I am done.",
    ],
)
def test_text_without_a_call_has_none(text):
    assert list_calls(text) == []


def test_call_without_arguments_has_empty_ones():
    assert list_calls('```json\n{"name": "look"}\n```') == [("look", "{}")]


def test_calls_keep_their_order_and_continue_the_numbering():
    text = f"```json\n{CALL}\n```\nthen\n```json\n{CALL}\n```"
    assert [call.id for call in parse_calls(text, first=3)] == ["call-3", "call-4"]


def test_fence_inside_a_string_is_part_of_it():
    text = '```json\n{"name": "edit", "arguments": {"new_str": "a\n```\nb"}}\n```'
    ((name, arguments),) = list_calls(text)
    assert name == "edit"
    assert json.loads(arguments) == {"new_str": "a\n```\nb"}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (f"```json\n{CALL[:-1]}\n```\nmore", CALL[:-1]),
        (f"<tool_call>{CALL[:-2]}</tool_call>", CALL[:-2]),
        (f"```json\n{CALL[:-2]}", CALL[:-2]),
        (
            '```json\n{"name": "look", ' + '"a": {' * 20_000,
            '{"name": "look", ' + ('"a": {' * 20_000).strip(),
        ),
    ],
)
def test_broken_call_keeps_its_text(text, written):
    assert list_calls(text) == [("look", written)]


def test_parsing_continues_after_a_broken_call():
    assert list_calls(f"```json\n{CALL[:-1]}\n```\n```json\n{CALL}\n```") == [
        ("look", CALL[:-1]),
        READ,
    ]


def rewrite(*messages):
    return rewrite_request(Request(messages, 50, 1.0, 7, tools=(LOOK, END)))


def test_tools_are_described_after_the_system_turn():
    request = rewrite(Message("system", "You mend."), Message("user", "mend it"))
    system, user = request.messages
    assert request.tools == ()
    assert system.content.startswith("You mend.\n\nYou work with tools.")
    assert system.content.endswith(
        """The tools:

### look
Shows code.
- `kind`, "class" or "function": Of what.
- `entity`, string: Its name.
- `more`, any (may be left out): Whatever.

### end
Ends it.
It takes no arguments."""
    )
    assert user == Message("user", "mend it")


def test_conversation_without_a_system_turn_gets_one():
    first, second = rewrite(Message("user", "mend it")).messages
    assert first.role == "system"
    assert first.content.startswith("You work with tools.")
    assert second.content == "mend it"


def test_example_in_the_description_can_be_parsed():
    assert list_calls(rewrite(Message("user", "x")).messages[0].content)[0] == (
        "look",
        '{"kind": "class", "entity": "…"}',
    )


def test_tool_answers_become_one_user_turn():
    one, two = ToolCall("a", "look", "{}"), ToolCall("b", "edit", "{}")
    text = "```json\n{}\n```"
    turns = (
        Message("user", "go"),
        Message("assistant", text, (one, two)),
        Message("tool", "code", tool_call_id="a"),
        Message("tool", "done", tool_call_id="b"),
    )
    _, _, call_turn, result_turn = rewrite(*turns).messages
    assert result_turn == Message("user", "Result of look:\ncode\n\nResult of edit:\ndone")
    assert [(call.name, call.arguments) for call in parse_calls(call_turn.content)] == [
        ("look", "{}"),
        ("edit", "{}"),
    ], "calls that a server wrote apart are put back into the text"


def test_calls_already_in_the_text_are_not_repeated():
    text = f"```json\n{CALL}\n```"
    turn = Message("assistant", text, (ToolCall("a", *READ),))
    assert rewrite(Message("user", "go"), turn).messages[2] == Message("assistant", text)


def test_deeply_nested_call_is_parsed():
    for depth in range(600, 1_001):  # somewhere in there it can be read, and not be written again
        nested = f'{{"name": "look", "arguments": {"[" * depth}{"]" * depth}}}'
        (call,) = parse_calls(nested)
        assert call.name == "look"
