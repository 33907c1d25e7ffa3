"""`edit_tool` replaces one passage of a file when it occurs exactly once and the syntax stays valid."""

from collections.abc import Collection, Sequence
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Indel

from model.agents.tools import carriage_return, indentation
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
    """Make the edit, or explain why not and what would work. Lone surrogates stand for bytes that are not UTF-8."""
    try:
        before = _content(context, path, old_str)
        after, at = _edited(before, old_str, new_str, path)
        _require_whole(path, before, after)
        context.workspace.write(path, after)
    except (_Impossible, WorkspaceError) as error:
        return Observation(f"{error}", ok=False)
    why = syntax_check.explain_unchecked(path, after)
    unsure = f" Nobody has checked its syntax: {why}." if why else ""
    return Observation(f"{_done(path, before, after, at, new_str)}{unsure}")


def _content(context: ToolContext, path: str, old_str: str) -> bytes | None:
    """Return the file's content; None for a file to create."""
    try:
        return context.workspace.read(path)
    except NoSuchFile as error:
        if not old_str:
            return None
        like = _like(path, {*context.snapshot.list_paths(), *context.workspace.list_changed()})
        raise _Impossible(f"{error}{f'; did you mean {like}?' if like else ''}") from error


def _like(path: str, paths: Collection[str]) -> str:
    """Name files with the same file name, otherwise files with the most similar paths."""
    name = path.rpartition("/")[2]
    same = sorted(one for one in paths if one.rpartition("/")[2] == name)[:3]
    likest = process.extract(
        path, sorted(paths), scorer=Indel.normalized_similarity, limit=3, score_cutoff=0.6
    )
    return " or ".join(same or [found[0] for found in likest])


def _edited(before: bytes | None, old_str: str, new_str: str, path: str) -> tuple[bytes, int]:
    """Return the new content and the offset of the new text. Raises _Impossible."""
    if before is None:
        return _encoded(new_str), 0
    if not old_str:
        raise _Impossible(
            f"{path} exists already, so old_str can't be empty; give the passage to replace."
        )
    old, new = (_ended_as_in(before, text) for text in (old_str, new_str))
    if old == new:
        raise _Impossible("Nothing was changed: old_str and new_str are the same.")
    match _places(before, old):
        case [at]:
            return before[:at] + new + before[at + len(old) :], at
        case []:
            raise _Impossible(_not_found(path, before, old_str))
        case places:
            raise _Impossible(_ambiguous(path, before, places))


def _require_whole(path: str, before: bytes | None, after: bytes) -> None:
    given = before or b""
    if complaint := syntax_check.check_syntax(path, given, after) or indentation.check_indentation(
        path, given, after
    ):
        raise _Impossible(
            f"The edit was discarded, because it breaks the syntax: {complaint.rstrip('.')}. "
            "The file is as it was before; send an edit that leaves it whole."
        )
    if complaint := carriage_return.check_carriage_returns(path, given, after):
        raise _Impossible(f"The edit was discarded: {complaint}.")


def _places(content: bytes, wanted: bytes) -> list[int]:
    """Return every offset where `wanted` begins, with overlaps."""
    found: list[int] = []
    at = content.find(wanted)
    while at >= 0:
        found.append(at)
        at = content.find(wanted, at + 1)
    return found


def _ended_as_in(content: bytes, text: str) -> bytes:
    """Encode a text. In a file whose lines all end in CR LF, its line feeds become CR LF."""
    encoded = _encoded(text)
    if b"\r\n" not in content or b"\n" in content.replace(b"\r\n", b""):
        return encoded
    return encoded.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _not_found(path: str, content: bytes, old_str: str) -> str:
    text = _decoded(content).replace("\r\n", "\n")
    near = find_closest(text, old_str.replace("\r\n", "\n"))
    if near is None:
        return f"old_str is not in {path}, nor anything like it in its {len(split_lines(text)):,} lines."
    if near.difference is None:
        return f"old_str is not in {path}. The likest place is {_shown(near.excerpt)}"
    return (
        f"old_str is in {path} but for its spaces: {near.difference}. "
        f"Copy the passage as it stands there, {_shown(near.excerpt)}"
    )


def _ambiguous(path: str, content: bytes, places: Sequence[int]) -> str:
    lines = [content.count(b"\n", 0, at) + 1 for at in places[:_MOST_PLACES]]
    more = ", …" if len(places) > _MOST_PLACES else ""
    return (
        f"old_str is in {path} {len(places)} times, from lines {', '.join(map(str, lines))}{more} on. "
        "Take lines before or after it into old_str until only one place is left."
    )


def _done(path: str, before: bytes | None, after: bytes, at: int, new_str: str) -> str:
    if before is None:
        return f"Made {path}, {len(after):,} bytes."
    lines = split_lines(_decoded(after).replace("\r\n", "\n"))
    first = after.count(b"\n", 0, at) + 1
    last = first + new_str.count("\n")
    return f"Edited {path}, which now reads in {_shown(cut_excerpt(lines, first - _BESIDE, last + _BESIDE))}"


def _shown(one: Excerpt) -> str:
    return f"lines {one.first}-{one.last}:\n{one.text}"


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decoded(content: bytes) -> str:
    return content.decode(errors="surrogateescape")
