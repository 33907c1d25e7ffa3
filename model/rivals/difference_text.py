"""This module writes the facts that tell rivals apart as sentences, for the comment and the command line alike (pure)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from model.domain import ChangedPlace, DifferenceKind, RivalDifference
from model.rivals.differences import MOST_PLACES
from model.voting.verdict_summary import join_some

_NAMED_AT_MOST = 2
_PATCHES_AT_MOST = 6
_LONGEST_NAME = 60
_SAME = frozenset({DifferenceKind.SAME_EDIT, DifferenceKind.SAME_BUT_NAMES})
_VAGUE = frozenset({"__init__.py", "index.js", "index.ts", "main.py", "mod.rs", "utils.py"})
"""File names that say little without their folder."""

Quote = Callable[[str], str]
"""Turns an untrusted name into text that is safe where the sentence is shown."""


def write_sentences(
    differences: Sequence[RivalDifference], name_patch: Quote, quote: Quote
) -> tuple[str, ...]:
    """Return one sentence for each difference, such as "Only #3 changes `header()` in `parser.py`."

    `name_patch` writes the id of a patch, and `quote` any other name.
    """
    paths = {place.path for each in differences for place in each.places}
    writer = _Writer(name_patch, quote, _choose_file_names(paths))
    sentences = tuple(writer.write(each) for each in differences)
    if [each.kind for each in differences] == [DifferenceKind.ALL]:
        return (f"{sentences[0].removesuffix('.')}, each in its own way.",)
    return sentences


@dataclass(frozen=True, slots=True)
class _Writer:
    name_patch: Quote
    quote: Quote
    files: Mapping[str, str]
    """The name to show of each path."""

    def write(self, difference: RivalDifference) -> str:
        """Write one sentence."""
        names = join_some(
            [self.name_patch(patch) for patch in difference.patches], _PATCHES_AT_MOST
        )
        if difference.kind in _SAME:
            but = " but for names" if difference.kind is DifferenceKind.SAME_BUT_NAMES else ""
            return f"{names} make the same edit{but}."
        if difference.kind is DifferenceKind.ALL:
            return f"All change {self._name_places(difference.places)}."
        is_one = difference.kind is DifferenceKind.ONLY and len(difference.patches) == 1
        who = "All but" if difference.kind is DifferenceKind.ALL_BUT else "Only"
        deeds = list(self._list_deeds(difference, "s" if is_one else ""))
        return f"{who} {names} {join_some(deeds, len(deeds))}."

    def _list_deeds(self, difference: RivalDifference, ending: str) -> Iterator[str]:
        """Yield what patches do, as verbs with their objects. `ending` is the ending of the verbs."""
        changed = [place for place in difference.places if not place.is_new]
        added = [place for place in difference.places if place.is_new]
        if changed:
            yield f"change{ending} {self._name_places(changed)}"
        if added:
            yield f"add{ending} {self._name_places(added)}"
        if difference.calls and not difference.places:
            called = [self.quote(f"{_shorten(name)}()") for name in difference.calls]
            yield f"add{ending} calls of {join_some(called, _NAMED_AT_MOST)}"
        if difference.touches_tests:
            yield f"touch{'es' if ending else ''} tests"
        if difference.lines is not None:
            yield f"edit{ending} {difference.lines:,} lines, far more than the others"

    def _name_places(self, places: Sequence[ChangedPlace]) -> str:
        shown = places[:_NAMED_AT_MOST]
        functions: dict[str, list[str]] = {place.path: [] for place in shown}
        for place in shown:
            if place.function is not None:
                functions[place.path].append(self.quote(f"{_shorten(place.function)}()"))
        named = [
            f"{join_some(names, len(names))} in {file}" if names else file
            for path, names in functions.items()
            if (file := self.quote(_shorten(self.files[path])))
        ]
        more = len(places) - len(shown)
        count = "many" if len(places) == MOST_PLACES else str(more)
        return f"{', '.join(named)} and {count} more" if more else join_some(named, len(named))


def _choose_file_names(paths: set[str]) -> dict[str, str]:
    """Return the shortest clear name of each path: the file's own, with its folder, or the whole path."""
    chosen: dict[str, str] = {}
    for parts in (1, 2, None):
        ends = {path: "/".join(path.split("/")[-parts:] if parts else [path]) for path in paths}
        counts = Counter(ends.values())
        for path, end in ends.items():
            if path not in chosen and (parts is None or (counts[end] == 1 and end not in _VAGUE)):
                chosen[path] = end
    return chosen


def _shorten(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else f"…{line[1 - _LONGEST_NAME :]}"
