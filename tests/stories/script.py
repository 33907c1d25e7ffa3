"""What the scripted engine says in the stories: it judges by content, so shuffled seats don't matter."""

import json

RIGHT = ("w * h", "h * w")
"""A patch that contains one of these is boxed as correct."""

_SHORT = "I went through the patches one by one."
_BABBLE = "As a large language model I would rather write a poem."

LINES = (
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
    """The script as the engine reads it."""
    return "".join(f"{json.dumps(line)}\n" for line in LINES)
