"""This module finds what tells the rivals of one issue apart: same edits, functions and files that only some change (pure).

It states only what the diffs prove. Where a diff may change a function and does not show it, nothing is said about that
function. Patches that cannot be parsed, and very long ones, are left out of the comparison.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from model.domain import ChangedPlace, DifferenceKind, Patch, PatchId, RivalDifference
from model.errors import BadDiff
from model.patches.changed_places import (
    ChangedPlaces,
    Function,
    read_places,
)
from model.patches.edits import read_edit
from model.rivals.rival_agreement import build_opinion_key

MOST_DIFFERENCES = 4
MOST_PLACES = 20
"""Most places and calls of one fact that are kept."""
_LONGEST_DIFF = 100_000
_MOST_CHARACTERS = 500_000
"""Most characters of all diffs together, so that strangers cannot keep a worker busy for long."""
_LONGEST_PATH = 300
_NEAR = 15
"""Most lines between two definitions of one name that may be the same one on other bases."""
_MUCH_LONGER, _LONG = 4, 30
"""A patch is much longer if it edits this many times the rivals' median, and at least this many lines."""

Name = TypeVar("Name", bound=Hashable)
Seats = frozenset[int]
"""Indices of patches."""


@dataclass
class _Traits:
    """What the patches of one set change, and no other patch does."""

    files: list[str] = field(default_factory=list)
    functions: list[tuple[Function, bool]] = field(default_factory=list)
    """(function, whether the patches add it)."""
    calls: list[str] = field(default_factory=list)
    touches_tests: bool = False
    lines: int | None = None

    def compute_weight(self) -> float:
        """Return how well these traits tell rivals apart; where a patch works says more than what it calls."""
        kinds = ((self.files, 4.0), (self.functions, 3.0), (self.touches_tests, 2.0))
        others = ((self.calls, 1.5), (self.lines is not None, 1.0))
        return max((weight for has, weight in (*kinds, *others) if has), default=0.0)


def find_differences(patches: Sequence[Patch]) -> tuple[RivalDifference, ...]:
    """Return at most MOST_DIFFERENCES facts about how the rivals differ, the most telling first. Equal input, equal facts."""
    short = [patch for patch in patches if len(patch.diff) <= _LONGEST_DIFF]
    if sum(len(patch.diff) for patch in short) > _MOST_CHARACTERS:
        return ()
    read = list(_read(short))
    if len(read) < 2:
        return ()
    ids = [patch.id for patch, _ in read]
    copies = list(_find_copies([patch for patch, _ in read]))
    if copies and len(copies[0].patches) == len(read):
        return tuple(copies)
    everybody = frozenset(range(len(read)))
    traits = _collect_traits([each for _, each in read])
    shared = traits.pop(everybody, _Traits())
    named = {path for each in traits.values() for (path, _), _ in each.functions}
    shared.files = [path for path in shared.files if path not in named]
    common = [_describe(everybody, shared, ids)] if shared.files or shared.functions else []
    ranked = sorted(
        traits, key=lambda seats: (-traits[seats].compute_weight(), *_order(seats, len(read)))
    )
    split = [_describe(seats, traits[seats], ids) for seats in ranked]
    return tuple([*copies[:2], *common, *split][:MOST_DIFFERENCES])


def _read(patches: Iterable[Patch]) -> Iterator[tuple[Patch, ChangedPlaces]]:
    for patch in patches:
        try:
            places = read_places(patch.diff)
        except BadDiff:
            continue
        if places.files or places.touches_tests:
            yield patch, places


def _find_copies(patches: Sequence[Patch]) -> Iterator[RivalDifference]:
    """Yield the sets of patches with the same code, then those whose code differs in names only."""
    exact: dict[object, list[PatchId]] = defaultdict(list)
    nameless: dict[object, dict[object, list[PatchId]]] = defaultdict(dict)
    for patch in patches:
        edit = read_edit(patch.diff)
        same = exact[edit.file_set, edit.code]
        same.append(patch.id)
        nameless[build_opinion_key(edit)][edit.file_set, edit.code] = same
    for ids in exact.values():
        if len(ids) > 1:
            yield RivalDifference(DifferenceKind.SAME_EDIT, tuple(ids))
    for variants in nameless.values():
        if len(variants) > 1:
            ids = [patch for same in variants.values() for patch in same]
            yield RivalDifference(DifferenceKind.SAME_BUT_NAMES, tuple(ids))


def _collect_traits(places: Sequence[ChangedPlaces]) -> dict[Seats, _Traits]:
    """Return the traits of each set of patches, as indices of `places`. The set of all patches holds what they share."""
    traits: dict[Seats, _Traits] = defaultdict(_Traits)
    for function, (seats, is_new) in _find_functions(places).items():
        traits[seats].functions.append((function, is_new))
    for path, seats in _invert(each.files for each in places).items():
        # A function names its file too.
        if all(function[0] != path for function, _ in traits[seats].functions):
            traits[seats].files.append(path)
    for name, seats in _invert(sorted(each.calls) for each in places).items():
        traits[seats].calls.append(name)
    tested = frozenset(seat for seat, each in enumerate(places) if each.touches_tests)
    if tested and len(tested) < len(places):
        traits[tested].touches_tests = True
    if (longest := _find_much_longer([each.line_count for each in places])) is not None:
        traits[frozenset({longest})].lines = places[longest].line_count
    return {seats: each for seats, each in traits.items() if each.compute_weight()}


def _find_functions(places: Sequence[ChangedPlaces]) -> dict[Function, tuple[Seats, bool]]:
    """Return by function which patches change it, and whether they add it.

    A file in which any patch changes a line of an unknown function is left out: the diffs do not prove who changes what.
    """
    added = _invert(sorted(each.new) for each in places)
    unclear = {line.path for each in places for line in each.lines if line.function is None}
    changed = _invert(
        sorted({(line.path, line.function or "") for line in each.lines}) for each in places
    )
    twice = _find_ambiguous(places)
    return {
        **{
            function: (seats, False)
            for function, seats in changed.items()
            if function[1] and function[0] not in unclear and function not in twice | added.keys()
        },
        **{function: (seats, True) for function, seats in added.items()},
    }


def _find_ambiguous(places: Sequence[ChangedPlaces]) -> set[Function]:
    """Return the names that stand for several functions of one file. The bases of rivals may differ by some lines."""
    lines: dict[Function, list[int]] = defaultdict(list)
    for each in places:
        for definition in each.definitions:
            lines[definition.path, definition.name].append(definition.line)
    return {function for function, each in lines.items() if max(each) - min(each) > _NEAR}


def _find_much_longer(edited: Sequence[int]) -> int | None:
    """Return the index of the one patch that is much longer than its rivals, None without one."""
    longest = max(range(len(edited)), key=lambda seat: edited[seat])
    rest = [lines for seat, lines in enumerate(edited) if seat != longest]
    is_much = edited[longest] >= max(_LONG, _MUCH_LONGER * median(rest), 2 * max(rest))
    return longest if is_much else None


def _invert(names: Iterable[Iterable[Name]]) -> dict[Name, Seats]:
    """Return by name the indices of the collections that hold it, in the order of the names."""
    seats: dict[Name, set[int]] = defaultdict(set)
    for seat, each in enumerate(names):
        for name in each:
            seats[name].add(seat)
    return {name: frozenset(each) for name, each in seats.items()}


def _order(seats: Seats, size: int) -> tuple[int, int, list[int]]:
    """Return a sort key: what one patch does or does not do is read first."""
    return min(len(seats), size - len(seats)), len(seats), sorted(seats)


def _describe(seats: Seats, traits: _Traits, ids: Sequence[PatchId]) -> RivalDifference:
    absent = [patch for seat, patch in enumerate(ids) if seat not in seats]
    present = [patch for seat, patch in enumerate(ids) if seat in seats]
    functions = [
        ChangedPlace(_clean(path), name[:_LONGEST_PATH], is_new)
        for (path, name), is_new in traits.functions
    ]
    most = len(ids) > 2 and 0 < len(absent) < len(present)
    kind = DifferenceKind.ALL_BUT if most else DifferenceKind.ONLY if absent else DifferenceKind.ALL
    return RivalDifference(
        kind,
        tuple(absent if most else present),
        places=(*functions, *(ChangedPlace(_clean(path)) for path in traits.files))[:MOST_PLACES],
        calls=() if kind is DifferenceKind.ALL else tuple(traits.calls)[:MOST_PLACES],
        touches_tests=traits.touches_tests,
        lines=traits.lines,
    )


def _clean(path: str) -> str:
    """Return the end of a path, without the character that PostgreSQL refuses."""
    return path.replace("\0", "\ufffd")[-_LONGEST_PATH:]
