"""Whole files for a prompt: as many of those asked for as there is room, and why the others are missing."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from model.agents.agentless.search_replace import shown
from model.errors import WorkspaceError
from model.workspace import Workspace

_FRAME_TOKENS = 32
"""For the path and the tags around a file."""
_LONGEST_TOKEN = 40
"""Characters a token can hold on average at the very most; a file above that is too long uncounted."""


@dataclass(frozen=True, slots=True)
class FullFiles:
    """What is shown, and what is not."""

    texts: Mapping[str, str]
    """By path, as they are: what is no UTF-8 as lone surrogates. A prompt shows `search_replace.shown` of them."""
    left_out: Mapping[str, str]
    """Path and reason. Nothing is ever clipped: an edit of half a file would be made blindly."""


def fitting(
    workspace: Workspace, paths: Iterable[str], room: int, count_tokens: Callable[[str], int]
) -> FullFiles:
    """The files in their order, each that fits into what those before it left of `room` tokens."""
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for path in paths:
        try:
            raw = workspace.read(path)
        except WorkspaceError as error:
            left_out[path] = str(error)
            continue
        text = raw.decode(errors="surrogateescape")
        size = _size(text, room, count_tokens)
        if b"\0" in raw:
            left_out[path] = "it is no text"
        elif size > room:
            left_out[path] = f"it needs about {size:,} tokens, and {max(0, room):,} are left"
        else:
            texts[path] = text
            room -= size
    return FullFiles(texts, left_out)


def _size(text: str, room: int, count_tokens: Callable[[str], int]) -> int:
    """Tokens, frame and all; of a text that is hopelessly long the least it can need."""
    least = _FRAME_TOKENS + len(text) // _LONGEST_TOKEN
    return least if least > room else _FRAME_TOKENS + count_tokens(shown(text))
