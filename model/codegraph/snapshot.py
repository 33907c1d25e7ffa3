"""A snapshot finds the entities of one tree by name."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from rapidfuzz import fuzz, process

from model.codegraph.database import Database
from model.codegraph.entities import Entity, EntityKind

_LIKENESS: Final = 60
"""Least similarity of two names, out of 100. Below it, names have little in common."""


class Snapshot:
    """One source tree in an open index, to find its definitions by name. Threads may share it.

    It is valid for `database.KEPT_DAYS` days.
    """

    def __init__(
        self, database: Database, blobs: Mapping[int, Sequence[str]], paths: tuple[str, ...]
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._paths = paths

    def find(self, construct: EntityKind, name: str) -> tuple[Entity, ...]:
        """Return all definitions of the kind `construct` with the simple name `name`, sorted by path and place.

        Raises NoIndex.
        """
        rows = self._database.find_entities(construct.value, name, self._blobs)
        entities = [
            Entity(construct, own, f"{scope}.{own}" if scope else own, path, *place)
            for blob, scope, own, *place in rows
            for path in self._blobs[blob]
        ]
        return tuple(sorted(entities, key=lambda entity: (entity.path, entity.start_byte)))

    def find_similar_names(
        self, construct: EntityKind, name: str, limit: int = 5
    ) -> tuple[str, ...]:
        """Return at most `limit` names of definitions of the kind `construct` that are similar to `name`.

        The most similar name comes first. `name` itself is not in the result. Raises NoIndex.
        """
        names = self._names.get(construct.value, ())
        matches = process.extract(
            name.lower(),
            {own: own.lower() for own in names if own != name},
            scorer=fuzz.WRatio,
            limit=limit,
            score_cutoff=_LIKENESS,
        )
        return tuple(own for _, _, own in matches)

    def list_paths(self) -> tuple[str, ...]:
        """Return all paths of the source tree, in any language, sorted."""
        return self._paths

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names of each construct in this tree. They load when a name is not found."""
        names: dict[str, list[str]] = {}
        for construct, name in self._database.list_names(self._blobs):
            names.setdefault(construct, []).append(name)
        return names
