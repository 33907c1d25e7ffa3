"""The script of the stories' engine: it judges by content, so seats do not matter."""

import json

RIGHT = ("w * h", "h * w")
"""A patch that contains one of these is boxed as correct."""

_SHORT = "I went through the patches one by one."
_BABBLE = "As a large language model I would rather write a poem."

_AT_WORK = "You are a software engineer who resolves one reported issue"
"""An agent's prompt says so, and no verifier's."""


def _edit(result: str) -> dict[str, object]:
    """Return an agent's edit that makes `area` return `result`."""
    changed = {
        "path": "area.py",
        "old_str": "    return w + h\n",
        "new_str": f"    return {result}\n",
    }
    return {"calls": [{"name": "edit_tool", "arguments": changed}]}


AGENTS = (
    {
        "when": "Edited area.py, which now reads",
        "calls": [{"name": "patch_submission", "arguments": {}}],
        "repeat": True,
    },
    # A hint says how to do better; if one were ever shown to who judges, this would be no vote.
    {"when": "multiply the sides", **_edit("w * h"), "repeat": True},
    {"when": "A review of it came to this:", **_edit("h * w"), "repeat": True},
    {"when": "falls short", **_edit("w - h"), "repeat": True},
    # What an agent is shown of the code decides what becomes of it.
    *({"when": "three ways", **_edit(result)} for result in ("w * h", "h * w", "w - h")),
    {"when": "takes its time", "stall_seconds": 2.0, **_edit("w * h"), "repeat": True},
    {"when": "beyond repair", "reply": "I have no idea.", "repeat": True},
    {"when": "## area.py, lines", **_edit("w * h"), "repeat": True},
    {
        "when": _AT_WORK,
        "calls": [
            {"name": "search_tool", "arguments": {"construct": "function", "entity": "area"}}
        ],
        "repeat": True,
    },
)
"""Mini-SE reads, edits and hands in."""

WRITTEN_TEST = """from area import area
print("Issue resolved" if area(2, 3) == 6 else "Issue reproduced")
"""

LINES = (
    {
        "when": "Write the script that tells whether this issue",
        "reply": f"It adds:\n\n```python\n{WRITTEN_TEST}```\n",
        "repeat": True,
    },
    *AGENTS,
    # A reply that was opened for the model ends in no box either.
    {"when": f"{_BABBLE}\n", "reply": "poetry}", "repeat": True},
    # Nothing readable, not even when asked again with an opened box.
    {"when": "the engine babbles", "reply": _BABBLE, "repeat": True},
    {"when": "the engine chokes", "fail": "CUDA out of memory on gpu-7.internal", "repeat": True},
    {"when": "the engine sleeps", "down": "connection refused by gpu-7.internal"},
    {"when": "the engine mumbles", "reply": _BABBLE},
    {"when": "the engine ponders", "stall_seconds": 0.6, "box_containing": RIGHT, "repeat": True},
    {"reply": _SHORT, "box_containing": RIGHT, "repeat": True},
)


def text() -> str:
    """Return the script as the engine reads it."""
    return "".join(f"{json.dumps(line)}\n" for line in LINES)
