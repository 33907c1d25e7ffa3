"""Tools for models behind a server that has none: described in words, called in a fenced block of JSON (pure).

    ```json
    {"name": "search_tool", "arguments": {"construct": "function", "entity": "parse"}}
    ```

A block that is no readable call is a call all the same, with what was written for its arguments: whoever carries it
out says what is wrong with it. What some models write by themselves, `<tool_call>` around the same JSON, is read too.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from model.protocols import Message, Request, Tool, ToolCall

_OPENING = re.compile(r"^[ \t]*```[ \t]*\w*[ \t]*\n\s*(?=\{)|<tool_call>\s*", re.MULTILINE)
_CLOSING = re.compile(r"^[ \t]*```|</tool_call>", re.MULTILINE)
_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_THOUGHT = "</think>"
_NAMES = ("name", "tool")
_ARGUMENTS = ("arguments", "parameters")
_READ = json.JSONDecoder(strict=False)
"""Models put line ends into JSON strings as they are."""
_HOW = """

You work with tools. To use one, end your reply with a call of it: one fenced block of JSON with the tool's `name` and its `arguments`, nothing after it. The next message brings the answer. An example, with a tool that does not exist:

```json
{"name": "open_door", "arguments": {"number": 3}}
```

The tools that exist, each with the JSON Schema of its arguments:
"""


def in_words(request: Request) -> Request:
    """The same request for an engine without tools: they are described, and calls and answers are plain turns."""
    described = _HOW + "".join(map(_described, request.tools))
    first, *rest = request.messages
    if first.role != "system":
        first, rest = Message("system", ""), [first, *rest]
    opening = replace(first, content=(first.content + described).strip())
    return replace(request, messages=(opening, *_plain(rest)), tools=())


def calls_in(text: str, first: int = 0) -> tuple[ToolCall, ...]:
    """The calls that a reply holds, in their order; their ids count on from `first`. Thoughts are not read."""
    said = text.rpartition(_THOUGHT)[2]
    return tuple(
        ToolCall(f"call-{first + at}", name, arguments)
        for at, (name, arguments) in enumerate(_blocks(said))
    )


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    while opening := _OPENING.search(text, end):
        call, end = _block(text, opening.end())
        if call:
            yield call


def _block(text: str, start: int) -> tuple[tuple[str, str] | None, int]:
    """The call that begins here, if it is one, and where to read on."""
    try:
        value, end = _READ.raw_decode(text, start)
    except (ValueError, RecursionError):
        closing = _CLOSING.search(text, start)
        end = closing.start() if closing else len(text)
        written = text[start:end].strip()
        name = _NAME.search(written)
        return ((name[1], written) if name else None), max(end, start)
    return _call(value), end


def _call(value: Any) -> tuple[str, str] | None:
    """Name and arguments, where this is a call: other JSON in a reply is none."""
    if not isinstance(value, dict):
        return None
    name = next((value[word] for word in _NAMES if word in value), None)
    arguments: Any = next((value[word] for word in _ARGUMENTS if word in value), {})
    if not isinstance(name, str):
        return None
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return name, written


def _described(tool: Tool) -> str:
    schema = json.dumps(dict(tool.parameters), ensure_ascii=False)
    return f"\n### {tool.name}\n{tool.description}\n{schema}\n"


def _plain(messages: Sequence[Message]) -> Iterator[Message]:
    """Turns of user and assistant alone; answers that follow each other are one turn, as chat templates want it."""
    names = {call.id: call.name for one in messages for call in one.tool_calls}
    for role, group in groupby(messages, key=lambda one: one.role):
        if role == "tool":
            answers = [
                f"{names.get(str(one.tool_call_id))} answers:\n{one.content}" for one in group
            ]
            yield Message("user", "\n\n".join(answers))
        else:
            yield from (Message(role, one.content + _missing(one)) for one in group)


def _missing(turn: Message) -> str:
    """Calls of a turn that its text does not hold, since another server wrote them apart."""
    if not turn.tool_calls or calls_in(turn.content):
        return ""
    blocks = (
        f'{{"name": {json.dumps(one.name)}, "arguments": {one.arguments}}}'
        for one in turn.tool_calls
    )
    return "".join(f"\n```json\n{block}\n```" for block in blocks)
