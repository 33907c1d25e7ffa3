"""The entities of one tree, by name."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from rapidfuzz import fuzz, process

from model.codegraph.database import Database
from model.codegraph.entities import Construct, Entity

_LIKENESS: Final = 60
"""Of 100; below it two names have little more in common than their length."""


class Snapshot:
    """One tree of an open index, for `database.KEPT_DAYS`. Threads may share it."""

    def __init__(
        self, database: Database, blobs: Mapping[int, Sequence[str]], paths: tuple[str, ...]
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._paths = paths

    def find(self, construct: Construct, name: str) -> tuple[Entity, ...]:
        """All entities of that simple name, by path and line. Raises NoIndex."""
        rows = self._database.named(construct.value, name, self._blobs)
        found = [
            Entity(construct, own, f"{scope}.{own}" if scope else own, path, *place)
            for blob, scope, own, *place in rows
            for path in self._blobs[blob]
        ]
        return tuple(sorted(found, key=lambda entity: (entity.path, entity.start_byte)))

    def near(self, construct: Construct, name: str, limit: int = 5) -> tuple[str, ...]:
        """Names that look like it, the likest first; itself is not among them. Raises NoIndex."""
        names = self._names.get(construct.value, ())
        found = process.extract(
            name.lower(),
            {own: own.lower() for own in names if own != name},
            scorer=fuzz.WRatio,
            limit=limit,
            score_cutoff=_LIKENESS,
        )
        return tuple(own for _, _, own in found)

    def paths(self) -> tuple[str, ...]:
        """All paths of the tree, sorted, in whatever language."""
        return self._paths

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names in this tree of each construct; asked only when something was not found."""
        names: dict[str, list[str]] = {}
        for construct, name in self._database.names(self._blobs):
            names.setdefault(construct, []).append(name)
        return names
