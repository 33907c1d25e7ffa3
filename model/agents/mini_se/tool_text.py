"""Describe tools in words and parse calls from text, for servers without tool calls (pure).

    ```json
    {"name": "search_tool", "arguments": {"construct": "function", "entity": "parse"}}
    ```

An unreadable block with a name is a call too, with its text as arguments; the tool then reports the error. The
parser also accepts `<tool_call>` around the JSON, and a reply that is only the JSON.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from model.agents import think_tags
from model.protocols import Message, Request, Tool, ToolCall

_OPENING = re.compile(
    r"^[ \t]*```[ \t]*\w*[ \t]*\n\s*(?=\{)|<tool_call>\s*|\A\s*(?=\{)", re.MULTILINE
)
_CLOSING = re.compile(r"^[ \t]*```|</tool_call>", re.MULTILINE)
_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_NAMES = ("name", "tool")
_ARGUMENTS = ("arguments", "parameters")
_READ = json.JSONDecoder(strict=False)
"""Lenient decoder: models put raw line ends into JSON strings."""
_NONE = "It takes no arguments.\n"
_HOW = """

You work with tools. To use one, end your reply with a call of it: one fenced block of JSON with the tool's `name` and its `arguments`, nothing after it. The next message brings the result. A call looks like this:

```json
%s
```

The tools:
"""


def rewrite_request(request: Request) -> Request:
    """Return a chat request without its tools, for an engine that does not support tool calls.

    Its system message describes the tools in words, and earlier tool calls and results become plain messages.
    """
    first, *rest = request.messages
    if first.role != "system":
        first, rest = Message("system", ""), [first, *rest]
    opening = replace(first, content=(first.content + describe_tools(request.tools)).strip())
    return replace(request, messages=(opening, *_flatten_turns(rest)), tools=())


def describe_tools(tools: Sequence[Tool]) -> str:
    """Return a text that describes tools (at least one) to a model and says how to call them."""
    return _HOW % _write_example(tools[0]) + "".join(map(_describe_tool, tools))


def parse_calls(text: str, first: int = 0) -> tuple[ToolCall, ...]:
    """Parse the tool calls in a reply's text, in order; empty without a call. Calls inside a thought are ignored.

    The calls get the ids `call-N`, where N counts up from `first`.
    """
    answer = think_tags.strip_thought(text) or ""
    return tuple(
        ToolCall(f"call-{first + index}", name, arguments)
        for index, (name, arguments) in enumerate(_find_calls(answer))
    )


def _find_calls(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    while opening := _OPENING.search(text, end):
        call, end = _read_block(text, opening.end())
        if call:
            yield call


def _read_block(text: str, start: int) -> tuple[tuple[str, str] | None, int]:
    """Return the call that begins here, if there is one, and the position to read on."""
    try:
        value, end = _READ.raw_decode(text, start)
        return _decode_call(value), end
    except (ValueError, RecursionError):
        closing = _CLOSING.search(text, start)
        end = closing.start() if closing else len(text)
        written = text[start:end].strip()
        name = _NAME.search(written)
        return ((name[1], written) if name else None), max(end, start)


def _decode_call(value: Any) -> tuple[str, str] | None:
    """Return name and arguments of a call; None for other JSON."""
    if not isinstance(value, dict):
        return None
    name = next((value[word] for word in _NAMES if word in value), None)
    arguments: Any = next((value[word] for word in _ARGUMENTS if word in value), {})
    if not isinstance(name, str):
        return None
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return name, written


def _write_example(tool: Tool) -> str:
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    arguments = {name: properties[name].get("enum", ["…"])[0] for name in required}
    return _write_call(tool.name, json.dumps(arguments, ensure_ascii=False))


def _write_call(name: str, arguments: str) -> str:
    return f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}'


def _describe_tool(tool: Tool) -> str:
    """Describe a tool in words: small models answer a JSON Schema with another schema."""
    required = tool.parameters.get("required", ())
    arguments = "".join(
        f"- `{name}`, {_describe_type(schema)}{'' if name in required else ' (may be left out)'}: {schema.get('description', '')}\n"
        for name, schema in tool.parameters.get("properties", {}).items()
    )
    return f"\n### {tool.name}\n{tool.description}\n{arguments or _NONE}"


def _describe_type(schema: Mapping[str, Any]) -> str:
    return " or ".join(map(json.dumps, schema.get("enum", ()))) or str(schema.get("type", "any"))


def _flatten_turns(messages: Sequence[Message]) -> Iterator[Message]:
    """Convert to turns of user and assistant only. Chat templates require that adjacent results are one turn."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    for role, group in groupby(messages, key=lambda message: message.role):
        if role == "tool":
            answers = [
                f"Result of {names.get(str(message.tool_call_id))}:\n{message.content}"
                for message in group
            ]
            yield Message("user", "\n\n".join(answers))
        else:
            yield from (
                Message(role, message.content + _write_missing_calls(message)) for message in group
            )


def _write_missing_calls(turn: Message) -> str:
    """Write the calls of a turn that its text lacks, because another server sent them as fields."""
    if not turn.tool_calls or parse_calls(turn.content):
        return ""
    blocks = (_write_call(call.name, call.arguments) for call in turn.tool_calls)
    return "".join(f"\n```json\n{block}\n```" for block in blocks)
