"""What tests of agents are made of: steps, trajectories, and contexts on small trees."""

import json
from contextlib import contextmanager

from model.agents import attempt_setup
from model.agents.trajectories.trajectory import (
    Attempt,
    AttemptLimits,
    Step,
    StopReason,
    Trajectory,
)
from model.domain import EngineInfo, Issue, Tokens
from model.engines.scripted import ScriptLine
from model.protocols import Message, Tool, ToolCall
from tests.model.codegraph.builders import write_files

ISSUE = Issue("Halving is off", "`half` of 3 should be 1.5, and is 1.")


def build_step(**values):
    call = ToolCall("a", "search_tool", '{"entity": "half"}')
    return Step(
        **{
            "reply": Message("assistant", "Let's see.", (call,)),
            "answers": (Message("tool", "def half(n): ...", tool_call_id="a"),),
            "tokens": Tokens(100, 64, 7),
            "seconds": 1.25,
            "token_ids": (5, 6, 7),
        }
        | values
    )


def build_trajectory(**values):
    return Trajectory(
        **{
            "agent": "mini-se",
            "engine": EngineInfo("scripted", "script", "0" * 12),
            "issue": ISSUE,
            "tree": "0" * 64,
            "seed": 7,
            "limits": AttemptLimits(),
            "tools": (Tool("look", "Shows code.", {"type": "object", "properties": {}}),),
            "opening": (Message("system", "Mend."), Message("user", "Halving is off")),
            "opening_tokens": 9,
            "steps": (build_step(),),
            "stop": StopReason.ROUNDS,
        }
        | values
    )


def build_attempt(**values):
    return Attempt(build_trajectory(**values), 2.5)


def script_call(name, **arguments):
    """A scripted reply that calls a tool."""
    return ScriptLine(calls=((name, json.dumps(arguments)),))


CODE = (
    "def half(n):\n    return n // 2\n\n\nclass Pie:\n    def cut(self):\n        return half(1)\n"
)
TREE = {"pie/maths.py": CODE, "README.md": "# Pie\n"}
LONG = {"pie/maths.py": "def half(n):\n" + "    n = int(n)\n" * 400 + "    return n // 2\n"}

LOOK = script_call("search_tool", construct="function", entity="half")
MEND = script_call("edit_tool", path="pie/maths.py", old_str="n // 2", new_str="n / 2")
SUBMIT = script_call("patch_submission")


@contextmanager
def open_tool_context(root, files):
    """A context on a tree of these files, by path."""
    write_files(root, files)
    with (
        attempt_setup.open_tool_contexts(root, root.parent / f"{root.name}.sqlite") as context,
        context() as own,
    ):
        yield own
