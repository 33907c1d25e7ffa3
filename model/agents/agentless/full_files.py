"""Load whole files into a prompt as long as they fit, and record why the others are missing."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from model.agents.agentless.search_replace import escape_file
from model.errors import WorkspaceError
from model.prompts.special_tokens import SpecialTokens
from model.workspace import Workspace

_FRAME_TOKENS = 32
"""Tokens for the path and the tags around a file."""
_LONGEST_TOKEN = 40
"""Upper bound of characters per token. A file above it is too long without counting."""


@dataclass(frozen=True, slots=True)
class FullFiles:
    """Texts of the files that a prompt shows whole, and reasons why other files are missing, both by path."""

    texts: Mapping[str, str]
    """Texts by path, with lone surrogates for bytes that are not UTF-8. Prompts escape a text by `escape_file`."""
    left_out: Mapping[str, str]
    """Reasons by path. A file is never cut: the model would edit the rest of it blindly."""


def load_fitting_files(
    workspace: Workspace,
    paths: Iterable[str],
    free_tokens: int,
    count_tokens: Callable[[str], int],
    special_tokens: SpecialTokens = None,
) -> FullFiles:
    """Load the files `paths` from an agent's workspace for a prompt, in order, within `free_tokens` tokens.

    A file is left out, with the reason, when it cannot be read, is not text or does not fit into the tokens still free.
    `special_tokens` are the engine's; the prompt escapes them.
    """
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for path in paths:
        try:
            raw = workspace.read(path)
        except WorkspaceError as error:
            left_out[path] = str(error)
            continue
        text = raw.decode(errors="surrogateescape")
        size = _count_size(
            text, free_tokens, lambda text: count_tokens(escape_file(text, special_tokens))
        )
        if b"\0" in raw:
            left_out[path] = "it is not text"
        elif size > free_tokens:
            left_out[path] = f"it needs about {size:,} tokens, and {max(0, free_tokens):,} are left"
        else:
            texts[path] = text
            free_tokens -= size
    return FullFiles(texts, left_out)


def _count_size(text: str, free_tokens: int, count_tokens: Callable[[str], int]) -> int:
    """Count a file's tokens with its frame. For a text that is far too long, return a lower bound."""
    least = _FRAME_TOKENS + len(text) // _LONGEST_TOKEN
    return least if least > free_tokens else _FRAME_TOKENS + count_tokens(text)
