"""Hand source trees from the process that reads GitHub to the processes that run agents and judge."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.values.identifiers import EvaluationId
from model.workspace import safe_open

_READY = "ready-"


@dataclass(frozen=True, slots=True)
class TreeStore:
    """A shared directory with one source tree per evaluation that waits for agents, or for a judge that reads code."""

    directory: Path

    def offer(self, tree: Path, evaluation: EvaluationId) -> None:
        """Move a source tree into this store, where agents find it by its evaluation.

        The move is a rename, so that readers see the tree whole; `tree` must be on the store's file system.
        """
        self.discard(evaluation)  # left by another database with the same ids
        # Other workers may write here, and a link in place of the tree's folder must lead nowhere.
        room = os.open(tree.parent, safe_open.FOLDER | os.O_NOFOLLOW)
        try:
            os.utime(tree.name, dir_fd=room, follow_symlinks=False)
            os.rename(tree.name, self._build_path(evaluation), src_dir_fd=room)
        finally:
            os.close(room)

    def find(self, evaluation: EvaluationId) -> Path | None:
        """Return the folder with the source tree of an evaluation, or None when there is none."""
        path = self._build_path(evaluation)
        return path if path.is_dir() else None

    def discard(self, evaluation: EvaluationId) -> None:
        """Delete the source tree of an evaluation, if there is one."""
        shutil.rmtree(self._build_path(evaluation), ignore_errors=True)

    def list_older_than(self, least_seconds: float) -> tuple[EvaluationId, ...]:
        """List the evaluations whose trees were offered at least `least_seconds` ago."""
        return tuple(sorted(self._find_older(time.time() - least_seconds)))

    def _find_older(self, moment: float) -> Iterator[EvaluationId]:
        for path in self.directory.glob(f"{_READY}*"):
            name = path.name.removeprefix(_READY)
            try:
                if name.isdecimal() and path.stat().st_mtime <= moment:
                    yield EvaluationId(int(name))
            except FileNotFoundError:
                continue  # its reader deleted it meanwhile

    def _build_path(self, evaluation: EvaluationId) -> Path:
        return self.directory / f"{_READY}{int(evaluation)}"
