"""Trees that were handed over: laid down by the process that reads GitHub, read by that of the agents, who knows no GitHub."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.values.identifiers import EvaluationId

_READY = "ready-"


@dataclass(frozen=True, slots=True)
class Trees:
    """A folder that both processes have, one folder in it for each evaluation that agents are to work for."""

    directory: Path

    def offer(self, tree: Path, evaluation: EvaluationId) -> None:
        """Hand over a tree that lies on the same file system; in an instant, and whole."""
        self.discard(evaluation)  # of another database that counted as far
        os.utime(tree)
        tree.rename(self._path(evaluation))

    def find(self, evaluation: EvaluationId) -> Path | None:
        """The tree for an evaluation; None: it was not handed over here, or is gone."""
        path = self._path(evaluation)
        return path if path.is_dir() else None

    def discard(self, evaluation: EvaluationId) -> None:
        """Remove it; what is gone already stays gone."""
        shutil.rmtree(self._path(evaluation), ignore_errors=True)

    def lying(self, least_seconds: float) -> tuple[EvaluationId, ...]:
        """The evaluations whose trees were handed over so long ago, or longer."""
        return tuple(sorted(self._older(time.time() - least_seconds)))

    def _older(self, moment: float) -> Iterator[EvaluationId]:
        for path in self.directory.glob(f"{_READY}*"):
            name = path.name.removeprefix(_READY)
            try:
                if name.isdecimal() and path.stat().st_mtime <= moment:
                    yield EvaluationId(int(name))
            except FileNotFoundError:
                continue  # its reader is done with it

    def _path(self, evaluation: EvaluationId) -> Path:
        return self.directory / f"{_READY}{int(evaluation)}"
