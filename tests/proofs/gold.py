"""Where a patch that is known to be right changes Python code: which definitions, of which release's tree (pure).

Definitions are read by Python's own parser, not by the code graph that is to find them.

Patches are of a development branch, trees of releases. A hunk stands where its context and removed lines stand, as
`git apply` has it; a release is the nearer the fewer lines its hunks stand off.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unidiff import PatchSet
from unidiff.patch import Hunk, PatchedFile

from model.codegraph.entities import EntityKind

Text = Callable[[str], str | None]
"""What a tree has under a path; None where there is no such file."""
_DEFINING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_CONTEXTS = (3, 1)
"""Lines around an edit that have to be there; more are asked for first."""


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A definition that a patch changes, as the code graph names it."""

    path: str
    qualified_name: str
    construct: EntityKind = field(compare=False)

    @property
    def name(self) -> str:
        """What it is looked up by."""
        return self.qualified_name.rpartition(".")[2]

    def is_within(self, path: str, qualified_name: str) -> bool:
        """Whether it is this definition, or stands in it."""
        return path == self.path and f"{self.qualified_name}.".startswith(f"{qualified_name}.")


@dataclass(frozen=True, slots=True)
class Fit:
    """How a patch fits a tree."""

    hunks: int
    placed: int
    off: int
    """Lines between where placed hunks should stand and where they do, summed."""

    @property
    def is_whole(self) -> bool:
        """Whether every hunk has its place, and there is one."""
        return 0 < self.hunks == self.placed


@dataclass(frozen=True, slots=True)
class _Definition:
    """A class or function, with its dotted name; lines count from 1, its decorators are among them."""

    name: str
    construct: EntityKind
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a hunk stands: the line before which it begins, from 0, and its lines with their kinds."""

    at: int
    lines: tuple[tuple[str, str], ...]
    off: int


def nearest(
    patch: str, releases: Sequence[str], text: Callable[[str, str], str | None]
) -> tuple[str, Fit] | None:
    """The release that a patch fits best, the latest of equal ones: the fix itself is in none that it fits.

    `releases` begin with the oldest; `text` is of a release and a path. None where the patch changes no file that any of them has.
    """
    fits = [
        (one, _fit(patch, lambda path, release=one: text(release, path)))
        for one in reversed(releases)
    ]
    release, best = max(fits, key=lambda fit: (fit[1].placed, -fit[1].off))
    return (release, best) if best.placed else None


def find_changed(patch: str, text: Text) -> tuple[Entity, ...]:
    """The innermost definitions that changed lines stand in, as the tree has them; sorted.

    A line that is added in a definition which is new itself counts for what that one stands in. Blank lines, lines
    outside every definition and hunks without a place count for nothing.
    """
    found: set[Entity] = set()
    for file in _list_changed_files(patch):
        before = text(file.path)
        if before is not None and file.path.endswith(".py"):
            found |= set(_entities(file, before.split("\n")))
    return tuple(sorted(found))


def _fit(patch: str, text: Text) -> Fit:
    hunks = placed = off = 0
    for file in _list_changed_files(patch):
        before = text(file.path)
        places = [] if before is None else _places(file, before.split("\n"))
        hunks += len(file)
        placed += len(places)
        off += sum(place.off for place in places)
    return Fit(hunks, placed, off)


def _list_changed_files(patch: str) -> list[PatchedFile]:
    """Those that were there before."""
    files = PatchSet(patch if patch.endswith("\n") else f"{patch}\n")
    return [file for file in files if not file.is_added_file and not file.is_binary_file]


def _places(file: PatchedFile, lines: Sequence[str]) -> list[_Place]:
    """Hunks that have a place, with all their context or, where that has changed, with a line of it."""
    places = []
    for hunk in file:
        found = (_place(hunk, context, lines) for context in _CONTEXTS)
        places += [place for place in found if place is not None][:1]
    return places


def _place(hunk: Hunk, context: int, lines: Sequence[str]) -> _Place | None:
    """The nearest to where it should stand."""
    own = [(line.line_type, line.value.removesuffix("\n")) for line in hunk]
    edits = [at for at, (kind, _) in enumerate(own) if kind in {"-", "+"}]
    first = max(0, edits[0] - context)
    own = [one for one in own[first : edits[-1] + context + 1] if one[0] in {" ", "-", "+"}]
    wanted = [value for kind, value in own if kind != "+"]
    said = hunk.source_start - 1 + first
    starts = [
        at
        for at in range(len(lines) - len(wanted) + 1)
        if wanted and lines[at] == wanted[0] and lines[at : at + len(wanted)] == wanted
    ]
    if not starts:
        return None
    at = min(starts, key=lambda start: abs(start - said))
    return _Place(at, tuple(own), abs(at - said))


def _entities(file: PatchedFile, before: list[str]) -> Iterator[Entity]:
    """Of one file; removed lines are looked for before the change, added ones after it."""
    places = _places(file, before)
    after, removed, added = _apply_places(before, places)
    old, new = (list(_definitions(_parse_lines(lines))) for lines in (before, after))
    known = {one.name: one for one in old}
    found = [_innermost(old, line) for line in removed]
    found += [_find_earlier(_innermost(new, line), known) for line in added]
    for one in found:
        if one is not None:
            yield Entity(file.path, one.name, one.construct)


def _apply_places(
    before: Sequence[str], places: Sequence[_Place]
) -> tuple[list[str], list[int], list[int]]:
    """The lines after the change, with the numbers from 1 of what was removed before and added after it."""
    after: list[str] = []
    removed: list[int] = []
    added: list[int] = []
    at = 0
    for place in sorted(places, key=lambda place: place.at):
        after += before[at : place.at]
        at = place.at
        for kind, value in place.lines:
            at += kind != "+"
            if kind != "-":
                after.append(value)
            if kind == "-" and value.strip():
                removed.append(at)
            if kind == "+" and value.strip():
                added.append(len(after))
    return [*after, *before[at:]], removed, added


def _parse_lines(lines: Sequence[str]) -> ast.AST:
    try:
        return ast.parse("\n".join(lines).encode(errors="surrogateescape"))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _definitions(
    node: ast.AST, scope: str = "", *, in_class: bool = False
) -> Iterator[_Definition]:
    """All within a node, under dotted names; a method is a function whose innermost definition around it is a class."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _DEFINING):
            yield from _definitions(child, scope, in_class=in_class)
            continue
        name = f"{scope}.{child.name}" if scope else child.name
        is_class = isinstance(child, ast.ClassDef)
        of_functions = EntityKind.CLASS_METHOD if in_class else EntityKind.FUNCTION
        first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
        kind = EntityKind.CLASS if is_class else of_functions
        yield _Definition(name, kind, first, child.end_lineno or first)
        yield from _definitions(child, name, in_class=is_class)


def _innermost(definitions: Sequence[_Definition], line: int) -> _Definition | None:
    around = [one for one in definitions if one.first <= line <= one.last]
    return (
        min(around, key=lambda definition: definition.last - definition.first) if around else None
    )


def _find_earlier(
    definition: _Definition | None, earlier: Mapping[str, _Definition]
) -> _Definition | None:
    """The definition as it was before, or of what is new the innermost around it that was there."""
    name = definition.name if definition else ""
    while name and name not in earlier:
        name = name.rpartition(".")[0]
    return earlier.get(name)
