"""The stored form of a trajectory, `r4p.trajectory/1`: one line of JSON, written in one way only (pure).

The same trajectory is the same bytes, and what is read and written again has not changed.
"""

import json
from dataclasses import asdict
from typing import Any

from model.agents.guidance import Guidance, Source
from model.agents.trajectory import Limits, Step, Stop, Trajectory
from model.domain import EngineInfo, Issue, Tokens
from model.errors import BadTrajectory
from model.protocols import Message, Tool, ToolCall

FORMAT = "r4p.trajectory/1"


def dumped(trajectory: Trajectory) -> bytes:
    """ASCII, ended by a line end; fields in the order in which the classes name them."""
    document = {"format": FORMAT, **asdict(trajectory)}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def loaded(raw: bytes) -> Trajectory:
    """What `dumped` wrote. Raises BadTrajectory."""
    try:
        document = json.loads(raw)
        if document.pop("format", None) != FORMAT:
            raise BadTrajectory(f"this is no {FORMAT} document; was it written by another version?")
        return _trajectory(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadTrajectory(f"not the record of an attempt: {error}") from error


def _trajectory(values: dict[str, Any]) -> Trajectory:
    return Trajectory(
        **values
        | {
            "engine": EngineInfo(**values["engine"]),
            "issue": Issue(**values["issue"]),
            "limits": Limits(**values["limits"]),
            "tools": tuple(Tool(**one) for one in values["tools"]),
            "opening": _messages(values["opening"]),
            "steps": tuple(_step(one) for one in values["steps"]),
            "stop": Stop(values["stop"]),
            "guidance": _guidance(values["guidance"]),
        }
    )


def _step(values: dict[str, Any]) -> Step:
    return Step(
        **values
        | {
            "reply": _message(values["reply"]),
            "answers": _messages(values["answers"]),
            "tokens": Tokens(**values["tokens"]),
            "token_ids": tuple(values["token_ids"]),
            "prompt": _messages(values["prompt"]),
        }
    )


def _messages(values: list[dict[str, Any]]) -> tuple[Message, ...]:
    return tuple(_message(one) for one in values)


def _message(values: dict[str, Any]) -> Message:
    calls = tuple(ToolCall(**one) for one in values["tool_calls"])
    return Message(**values | {"tool_calls": calls})


def _guidance(values: dict[str, Any] | None) -> Guidance | None:
    if values is None:
        return None
    return Guidance(
        **values | {"locations": tuple(values["locations"]), "source": Source(values["source"])}
    )
