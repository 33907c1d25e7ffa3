"""One JSON object a line, on disk as soon as it is known: a run that was ended goes on where it was."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class RunFile:
    """Rows by the words that name them."""

    def __init__(self, path: Path, *keys: str) -> None:
        """`keys`: the fields by which a row is known."""
        self._path, self._keys = path, keys
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < len(lines):  # the end of a killed run
            path.write_text("".join(whole))
        self._rows = {self._name(row): row for row in map(json.loads, whole)}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Of this run and those before."""
        return list(self._rows.values())

    def has(self, *name: str) -> bool:
        """Whether there is such a row."""
        return name in self._rows

    def add(self, row: Mapping[str, Any]) -> None:
        """One more, flushed."""
        with self._path.open("a") as end:
            end.write(json.dumps(row) + "\n")
        self._rows[self._name(row)] = dict(row)

    def _name(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[key]) for key in self._keys)
