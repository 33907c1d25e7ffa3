"""`edit_tool` replaces one passage of a file when it occurs exactly once and the syntax stays valid."""

from collections.abc import Collection, Sequence
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Indel

from model.agents.tools import edit_checks
from model.agents.tools.closest_text import Excerpt, cut_excerpt, find_closest, split_lines
from model.agents.tools.tool_context import Observation, ToolContext
from model.codegraph import syntax_check
from model.errors import NoSuchFile, WorkspaceError
from model.protocols import Tool

_MOST_PLACES: Final = 10
_BESIDE: Final = 3
"""Lines shown before and after the change."""

TOOL: Final = Tool(
    name="edit_tool",
    description=(
        "Replace one passage of a file. `old_str` has to be in the file exactly once, letter by letter with all "
        "spaces, tabs and line breaks; take enough lines of the surroundings with it to be unmistakable. An edit that "
        "breaks the syntax of the file is not made. Edits last and are part of the patch that is handed in."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The file, from the root of the repository: `package/module.py`.",
            },
            "old_str": {
                "type": "string",
                "description": "The passage to replace, as it stands in the file. Empty: make a new file.",
            },
            "new_str": {
                "type": "string",
                "description": "What shall stand there instead. Empty: the passage is deleted.",
            },
        },
        "required": ["path", "old_str", "new_str"],
    },
)


class _Impossible(Exception):
    """The edit cannot be made; the message is for the model."""


def edit(context: ToolContext, path: str, old_str: str, new_str: str) -> Observation:
    """Replace the only occurrence of `old_str` in a file of the workspace, and return the edited lines to the agent.

    When the edit is impossible, the observation says why and what would work, and nothing changes. With an empty
    `old_str`, a missing file is created. Lone surrogates stand for bytes that are not UTF-8.
    """
    try:
        before = _read_content(context, path, old_str)
        after, start = _replace(before, old_str, new_str, path)
        _check_result(path, before, after)
        context.workspace.write(path, after)
    except (_Impossible, WorkspaceError) as error:
        return Observation(f"{error}", ok=False)
    why = syntax_check.explain_unchecked(path, after)
    unsure = f" Its syntax was not checked: {why}." if why else ""
    return Observation(f"{_describe_edit(path, before, after, start, new_str)}{unsure}")


def _read_content(context: ToolContext, path: str, old_str: str) -> bytes | None:
    """Return the file's content; None for a file to create."""
    try:
        return context.workspace.read(path)
    except NoSuchFile as error:
        if not old_str:
            return None
        like = _suggest_paths(
            path, {*context.snapshot.list_paths(), *context.workspace.list_changed()}
        )
        raise _Impossible(f"{error}{f'; did you mean {like}?' if like else ''}") from error


def _suggest_paths(path: str, paths: Collection[str]) -> str:
    """Name files with the same file name, otherwise files with the most similar paths."""
    name = path.rpartition("/")[2]
    same = sorted(candidate for candidate in paths if candidate.rpartition("/")[2] == name)[:3]
    likest = process.extract(
        path, sorted(paths), scorer=Indel.normalized_similarity, limit=3, score_cutoff=0.6
    )
    return " or ".join(same or [match[0] for match in likest])


def _replace(before: bytes | None, old_str: str, new_str: str, path: str) -> tuple[bytes, int]:
    """Return the new content and the offset of the new text. Raises _Impossible."""
    if before is None:
        return _encode(new_str), 0
    if not old_str:
        raise _Impossible(
            f"{path} exists already, so old_str can't be empty; give the passage to replace."
        )
    old, new = (_encode_like(before, text) for text in (old_str, new_str))
    if old == new:
        raise _Impossible("Nothing was changed: old_str and new_str are the same.")
    match _find_all(before, old):
        case [at]:
            return before[:at] + new + before[at + len(old) :], at
        case []:
            raise _Impossible(_describe_missing(path, before, old_str))
        case places:
            raise _Impossible(_describe_ambiguous(path, before, places))


def _check_result(path: str, before: bytes | None, after: bytes) -> None:
    given = before or b""
    if complaint := syntax_check.check_syntax(path, given, after) or edit_checks.check_indentation(
        path, given, after
    ):
        raise _Impossible(
            f"The edit was discarded, because it breaks the syntax: {complaint.rstrip('.')}. "
            "The file is as it was before; send an edit that leaves it whole."
        )
    if complaint := edit_checks.check_carriage_returns(path, given, after):
        raise _Impossible(f"The edit was discarded: {complaint}.")


def _find_all(content: bytes, wanted: bytes) -> list[int]:
    """Return every offset where `wanted` begins, with overlaps."""
    places: list[int] = []
    start = content.find(wanted)
    while start >= 0:
        places.append(start)
        start = content.find(wanted, start + 1)
    return places


def _encode_like(content: bytes, text: str) -> bytes:
    """Encode a text. In a file whose lines all end in CR LF, its line feeds become CR LF."""
    encoded = _encode(text)
    if b"\r\n" not in content or b"\n" in content.replace(b"\r\n", b""):
        return encoded
    return encoded.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _describe_missing(path: str, content: bytes, old_str: str) -> str:
    text = _decode(content).replace("\r\n", "\n")
    near = find_closest(text, old_str.replace("\r\n", "\n"))
    if near is None:
        return f"old_str is not in {path}, nor anything like it in its {len(split_lines(text)):,} lines."
    if near.difference is None:
        return f"old_str is not in {path}. The closest place is {_show_excerpt(near.excerpt)}"
    return (
        f"old_str is in {path} but for its spaces: {near.difference}. "
        f"Copy the passage as it stands there, {_show_excerpt(near.excerpt)}"
    )


def _describe_ambiguous(path: str, content: bytes, places: Sequence[int]) -> str:
    lines = [content.count(b"\n", 0, place) + 1 for place in places[:_MOST_PLACES]]
    more = ", …" if len(places) > _MOST_PLACES else ""
    return (
        f"old_str is in {path} {len(places)} times, from lines {', '.join(map(str, lines))}{more} on. "
        "Take lines before or after it into old_str until only one place is left."
    )


def _describe_edit(path: str, before: bytes | None, after: bytes, start: int, new_str: str) -> str:
    if before is None:
        return f"Created {path}, {len(after):,} bytes."
    lines = split_lines(_decode(after).replace("\r\n", "\n"))
    first = after.count(b"\n", 0, start) + 1
    last = first + new_str.count("\n")
    return f"Edited {path}, which now reads in {_show_excerpt(cut_excerpt(lines, first - _BESIDE, last + _BESIDE))}"


def _show_excerpt(lines: Excerpt) -> str:
    return f"lines {lines.first}-{lines.last}:\n{lines.text}"


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decode(content: bytes) -> str:
    return content.decode(errors="surrogateescape")
