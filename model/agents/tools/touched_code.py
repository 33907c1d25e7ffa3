"""Show the definitions of a base that patches touch: source, callers and names of tests, for a judge's prompt.

The diffs name the definitions, and the code graph finds them. Nothing of the tree runs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from model.agents.tools.search_tool import build_section
from model.agents.tools.tool_context import ToolContext
from model.codegraph.entities import Entity, EntityKind
from model.errors import WorkspaceError
from model.patches.diff_paths import is_test_path
from model.patches.edits import PatchEdit, read_edit

_MOST_DEFINITIONS: Final = 6
_MOST_NAMES: Final = 8
_READ_BYTES: Final = 32_000_000
"""Bytes of the tree that are searched for callers; Django has 20 MB of Python."""
_IMPORT: Final = re.compile(r"^(?:import|from) .+$", re.MULTILINE)
_DEFINITION: Final = re.compile(r"^\s*(?:async\s+)?(?:def|class|function|func|fn)\s+(\w+)")


@dataclass(frozen=True, slots=True)
class _Mentions:
    """Where a name is called: functions of the code, and tests. Each is `path: function`."""

    callers: list[str]
    tests: list[str]


def describe_touched_code(context: ToolContext, diffs: Sequence[str], characters: int) -> str:
    """Return the touched definitions of the base, the most touched first, in at most `characters` characters.

    The result is empty where the code graph knows none. A definition that does not fit is left out whole.
    """
    return "\n\n".join(select_fitting(list_touched_code(context, diffs), characters))


def list_touched_code(context: ToolContext, diffs: Sequence[str]) -> tuple[str, ...]:
    """Return a text for each touched definition of the base, the most touched first, six at most."""
    touched = _find_touched([read_edit(diff) for diff in diffs], context)
    mentions = _find_mentions(context, {entity.name for entity in touched})
    return tuple(_describe(context, entity, mentions[entity.name]) for entity in touched)


def select_fitting(definitions: Sequence[str], characters: int) -> tuple[str, ...]:
    """Select the definitions that fit into `characters` with the blank lines between them. None is cut (pure)."""
    fitting: list[str] = []
    left = characters
    for definition in definitions:
        if len(definition) + 2 <= left:
            fitting.append(definition)
            left -= len(definition) + 2
    return tuple(fitting)


def _find_touched(edits: Sequence[PatchEdit], context: ToolContext) -> list[Entity]:
    """Find the functions and methods around the edits. More touched ones come first, then in order of path and line."""
    counts: dict[Entity, int] = {}
    for edit in edits:
        for entity in {
            entity for place in edit.functions for entity in _find(place, edit, context)
        }:
            counts[entity] = counts.get(entity, 0) + 1
    ranked = sorted(counts, key=lambda entity: (-counts[entity], entity.path, entity.start_line))
    return ranked[:_MOST_DEFINITIONS]


def _find(place: tuple[str, str], edit: PatchEdit, context: ToolContext) -> Iterator[Entity]:
    """Yield the definitions of one name in a file whose lines contain an edited place."""
    path, name = place
    lines = [line for file, line in edit.places if file == path]
    for kind in (EntityKind.FUNCTION, EntityKind.CLASS_METHOD):
        for entity in context.snapshot.find(kind, name):
            spans = entity.start_line, entity.end_line + 1
            if entity.path == path and any(spans[0] <= line <= spans[1] for line in lines):
                yield entity


def _describe(context: ToolContext, entity: Entity, mentions: _Mentions) -> str:
    section = build_section(context, entity)
    parts = [section.heading, *_list_imports(context, entity, section.text), section.text.rstrip()]
    for label, names in (("Callers", mentions.callers), ("Existing tests", mentions.tests)):
        if names:
            parts.append(f"{label}: {', '.join(names)}")
    return "\n".join(parts)


def _list_imports(context: ToolContext, entity: Entity, source: str) -> list[str]:
    """List the import lines of the file that bring a name which the definition uses."""
    used = set(re.findall(r"\w+", source))
    lines = _IMPORT.findall(_read(context, entity.path))
    return [line for line in lines if used & set(re.findall(r"\w+", line.partition("import")[2]))]


def _find_mentions(context: ToolContext, names: Iterable[str]) -> dict[str, _Mentions]:
    """Search the tree for calls of each name, test files and other files apart."""
    mentions = {name: _Mentions([], []) for name in names}
    if not mentions:
        return mentions
    call = re.compile(rf"(?<!def )\b({'|'.join(map(re.escape, mentions))})\s*\(")
    left = _READ_BYTES
    for path in context.snapshot.list_paths():
        text = _read(context, path)
        left -= len(text)
        if left < 0:
            break
        for name, where in _list_calls(text, call):
            kept = mentions[name].tests if is_test_path(path) else mentions[name].callers
            entry = f"{path}: {where}"
            if len(kept) < _MOST_NAMES and where != name and entry not in kept:
                kept.append(entry)
    return mentions


def _list_calls(text: str, call: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield each called name with the function or class in which the call stands."""
    if not call.search(text):
        return
    around = "the module"
    for line in text.splitlines():
        if definition := _DEFINITION.match(line):
            around = definition[1]
        for match in call.finditer(line):
            yield match[1], around


def _read(context: ToolContext, path: str) -> str:
    try:
        return context.workspace.read_original(path).decode(errors="replace")
    except WorkspaceError:
        return ""
