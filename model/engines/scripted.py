"""An engine that answers from a script, for tests, demos and first steps without a model.

It can choose its answer by content, so shuffled seats still give a known verdict. It can also fail in every way.
"""

import json
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from model.errors import BadEngine, EngineDown, EngineError, EngineTimeout
from model.protocols import Completion, Request, ToolCall

_PATCH = re.compile(r"<patch-(\d+)>\n(.*?)\n</patch-\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One scripted answer of a `ScriptedEngine`.

    It answers the first request that it matches, once or, with `repeat`, always.
    """

    when: str = ""
    """Text that the prompt or the prefill must contain."""
    reply: str = ""
    box_containing: tuple[str, ...] | None = None
    """Ends the reply with a box of the seats whose patch contains one of these texts; () gives an empty box."""
    calls: tuple[tuple[str, str], ...] = ()
    """Tool calls as (name, arguments). A file may write the arguments as an object."""
    fail: str | None = None
    """Message of the EngineError that answers this request."""
    down: str | None = None
    """Message of the EngineDown that the engine raises for this request."""
    stall_seconds: float = 0.0
    """Delay before the answer, at most the time limit of the request."""
    repeat: bool = False


_EXPECTED = (
    "write one JSON object a line, as "
    r'{"reply": "Patch 1 is right. \\boxed{1}", "repeat": true}'
    f"; its fields are {', '.join(field.name for field in fields(ScriptLine))}"
)


class ScriptedEngine:
    """Engine that answers each request by the first line of its script that matches the request.

    Raises EngineDown when no line is left that matches.
    """

    name = "scripted"
    model = "script"
    special_tokens: frozenset[str] | None = frozenset()
    """Empty, because a script has no tokenizer."""

    def __init__(self, lines: Iterable[ScriptLine], *, context_tokens: int = 32_768) -> None:
        self.context_tokens = context_tokens
        self._lines = list(lines)
        self._lock = threading.Lock()

    def count_tokens(self, text: str) -> int:
        """Return a quarter of the number of characters in `text`, rounded up, as its number of tokens."""
        return -(-len(text) // 4)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one scripted answer per request, in order. Raises EngineDown when no line of the script matches."""
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Do nothing, because a scripted engine holds no connections and no memory to free."""

    def _answer(self, request: Request) -> Completion | EngineError:
        prompt = "\n".join(message.content for message in request.messages) + (
            request.prefill or ""
        )
        # The line is taken before any delay, so that parallel requests keep the script's order.
        line = self._take_line(prompt)
        if request.seconds is not None and line.stall_seconds > request.seconds:
            # Waits for the caller's limit as a slow server does, so that deadlines are tested for real.
            threading.Event().wait(request.seconds)
            return EngineTimeout(f"the script had no answer within {request.seconds:g} s")
        if line.stall_seconds:
            threading.Event().wait(line.stall_seconds)
        if line.down is not None:
            raise EngineDown(line.down)
        if line.fail is not None:
            return EngineError(line.fail)
        reply = line.reply
        if line.box_containing is not None:
            reply += _write_box(prompt, line.box_containing, opened=bool(request.prefill))
        calls = tuple(
            # The number of messages grows with each turn, so ids differ over a whole conversation.
            ToolCall(f"call-{len(request.messages)}-{index}", name, arguments)
            for index, (name, arguments) in enumerate(line.calls)
        )
        # Arguments are sampled tokens too. A budget that ignored them would never be used up.
        output = reply + "".join(call.arguments for call in calls)
        read, written = self.count_tokens(prompt), self.count_tokens(output)
        return Completion(reply, True, read, 0, written, tool_calls=calls)

    def _take_line(self, prompt: str) -> ScriptLine:
        # Threads share the engine, and a line must be used once.
        with self._lock:
            for index, line in enumerate(self._lines):
                if line.when in prompt:
                    return line if line.repeat else self._lines.pop(index)
        raise EngineDown(
            "the script has no line left for this request; add a line, or set repeat on the last line"
        )


def load_script(path: Path) -> ScriptedEngine:
    """Load a scripted engine from a file of JSON lines with the fields of `ScriptLine`.

    Raises BadEngine for a file that cannot be read and for a line that is no answer.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadEngine(
            f"script {path} can't be read ({_describe_error(error)}); give a UTF-8 file of JSON lines"
        ) from error
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        try:
            lines += [_parse_line(json.loads(raw))] if raw.strip() else []
        except (ValueError, TypeError, KeyError) as error:
            raise BadEngine(
                f"script {path}, line {number} is no answer ({_describe_error(error)}); {_EXPECTED}"
            ) from error
    return ScriptedEngine(lines)


def _describe_error(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"no JSON: {error.msg.lower()} at column {error.colno}"
        case OSError():
            return error.strerror or str(error)
        case KeyError():
            return f"a call lacks {error}"
        case _:
            return str(error)


def _parse_line(values: Any) -> ScriptLine:
    if not isinstance(values, dict):
        raise TypeError("JSON, but no object")
    # Checked by hand, because the constructor's TypeError would name Python's arguments and not the file's.
    names = [item.name for item in fields(ScriptLine)]
    if unknown := sorted(set(values) - set(names)):
        raise ValueError(f"unknown field {unknown[0]!r}")
    boxed = values.pop("box_containing", None)
    calls = tuple(
        (item["name"], _dump_arguments(item["arguments"])) for item in values.pop("calls", ())
    )
    return ScriptLine(**values, box_containing=None if boxed is None else tuple(boxed), calls=calls)


def _dump_arguments(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _write_box(prompt: str, texts: Sequence[str], *, opened: bool) -> str:
    # Patches are found by content: the verifier shuffles seats, and a script cannot know the order.
    seats = [
        number
        for number, patch in _PATCH.findall(prompt)
        if patch.strip() and any(text in patch for text in texts)
    ]
    # A prefill already wrote the opening of the box, so the reply only closes it.
    return ", ".join(seats) + "}" if opened else f"\n\\boxed{{{', '.join(seats)}}}"
