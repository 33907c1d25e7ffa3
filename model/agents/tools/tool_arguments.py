"""Check a model's tool arguments against the tool's schema (pure)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from model.prompts.untrusted import restore_escapes
from model.protocols import Tool, ToolCall

_TYPES: Final[Mapping[str, type]] = {"string": str, "integer": int, "array": list}
_MOST_SHOWN: Final = 80


class BadCall(Exception):
    """A model's tool call has wrong arguments or names no tool. The message tells the model what to write."""


def parse_arguments(call: ToolCall, tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a tool call's arguments by name, with checked types and with escapes reverted. Raises BadCall.

    `tools` are the tools that the model may call.
    """
    tool = next((candidate for candidate in tools if candidate.name == call.name), None)
    if tool is None:
        names = ", ".join(candidate.name for candidate in tools)
        raise BadCall(f"There is no tool {_quote(call.name)}; there are {names}.")
    arguments = _parse_object(call, tool)
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters["properties"]
    missing = [name for name in tool.parameters["required"] if name not in arguments]
    unknown = [name for name in arguments if name not in properties]
    if missing or unknown:
        wrong = "; ".join(
            f"{what} {', '.join(map(_quote, names))}"
            for what, names in (("missing", missing), ("not known", unknown))
            if names
        )
        raise BadCall(f"{tool.name} takes {', '.join(properties) or 'no arguments'}; {wrong}.")
    return {
        name: _check_value(tool, name, value, properties[name]) for name, value in arguments.items()
    }


def _parse_object(call: ToolCall, tool: Tool) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise BadCall(
            f"The arguments of {tool.name} are no JSON ({error}); write one JSON object."
        ) from error
    if not isinstance(given, dict):
        raise BadCall(f"The arguments of {tool.name} are no JSON object; write one.")
    return given


def _check_value(tool: Tool, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    where = f"{name} of {tool.name}"
    wanted = schema["type"]
    if type(value) is not _TYPES[wanted]:
        raise BadCall(f"{where} is {_quote(value)}; it has to be of type {wanted}.")
    if "enum" in schema and value not in schema["enum"]:
        raise BadCall(
            f"{where} is {_quote(value)}; it has to be one of {', '.join(schema['enum'])}."
        )
    return _revert_escapes(where, value) if isinstance(value, str) else value


def _revert_escapes(where: str, value: str) -> str:
    """Revert the escapes of a text. Lone surrogates are allowed only where an escape produced them."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadCall(
            f"{where} holds half a character at {error.start}; write it whole."
        ) from error
    if "\0" in (meant := restore_escapes(value)):
        raise BadCall(f"{where} holds a NUL character; text has none.")
    return meant


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
