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
    """Rewrite a request for an engine without tools: describe the tools, and make calls and results plain turns."""
    first, *rest = request.messages
    if first.role != "system":
        first, rest = Message("system", ""), [first, *rest]
    opening = replace(first, content=(first.content + describe_tools(request.tools)).strip())
    return replace(request, messages=(opening, *_plain(rest)), tools=())


def describe_tools(tools: Sequence[Tool]) -> str:
    """Describe the tools (at least one) and how to call them."""
    return _HOW % _example(tools[0]) + "".join(map(_described, tools))


def parse_calls(text: str, first: int = 0) -> tuple[ToolCall, ...]:
    """Parse the calls of a reply in order, with ids that start at `first`. Thoughts are ignored."""
    said = think_tags.strip_thought(text) or ""
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
    """Return the call that begins here, if there is one, and the position to read on."""
    try:
        value, end = _READ.raw_decode(text, start)
        return _call(value), end
    except (ValueError, RecursionError):
        closing = _CLOSING.search(text, start)
        end = closing.start() if closing else len(text)
        written = text[start:end].strip()
        name = _NAME.search(written)
        return ((name[1], written) if name else None), max(end, start)


def _call(value: Any) -> tuple[str, str] | None:
    """Return name and arguments of a call; None for other JSON."""
    if not isinstance(value, dict):
        return None
    name = next((value[word] for word in _NAMES if word in value), None)
    arguments: Any = next((value[word] for word in _ARGUMENTS if word in value), {})
    if not isinstance(name, str):
        return None
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return name, written


def _example(tool: Tool) -> str:
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    arguments = {name: properties[name].get("enum", ["…"])[0] for name in required}
    return _call_of(tool.name, json.dumps(arguments, ensure_ascii=False))


def _call_of(name: str, arguments: str) -> str:
    return f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}'


def _described(tool: Tool) -> str:
    """Describe a tool in words: small models answer a JSON Schema with another schema."""
    required = tool.parameters.get("required", ())
    arguments = "".join(
        f"- `{name}`, {_kind(schema)}{'' if name in required else ' (may be left out)'}: {schema.get('description', '')}\n"
        for name, schema in tool.parameters.get("properties", {}).items()
    )
    return f"\n### {tool.name}\n{tool.description}\n{arguments or _NONE}"


def _kind(schema: Mapping[str, Any]) -> str:
    return " or ".join(map(json.dumps, schema.get("enum", ()))) or str(schema.get("type", "any"))


def _plain(messages: Sequence[Message]) -> Iterator[Message]:
    """Convert to turns of user and assistant only. Chat templates require that adjacent results are one turn."""
    names = {call.id: call.name for one in messages for call in one.tool_calls}
    for role, group in groupby(messages, key=lambda one: one.role):
        if role == "tool":
            answers = [
                f"Result of {names.get(str(one.tool_call_id))}:\n{one.content}" for one in group
            ]
            yield Message("user", "\n\n".join(answers))
        else:
            yield from (Message(role, one.content + _missing(one)) for one in group)


def _missing(turn: Message) -> str:
    """Write the calls of a turn that its text lacks, because another server sent them as fields."""
    if not turn.tool_calls or parse_calls(turn.content):
        return ""
    blocks = (_call_of(one.name, one.arguments) for one in turn.tool_calls)
    return "".join(f"\n```json\n{block}\n```" for block in blocks)
