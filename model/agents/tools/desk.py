"""What an agent has before it, and what a tool answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.workspace import Workspace

if TYPE_CHECKING:
    from model.codegraph.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Desk:
    """One tree to work on: its files with the edits so far, and the code graph of how it was at first."""

    workspace: Workspace
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool says back to the model."""

    text: str
    ok: bool = True
    """False: nothing was done, and the text says why and what to do instead."""
    malformed: bool = False
    """Nothing could be done because of how the call was written: no such tool, or not the arguments it takes."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The agent is done; `diff` is not empty."""

    diff: str
