"""What an agent has before it, and what a tool answers."""

from dataclasses import dataclass

from model.codegraph.snapshot import Snapshot
from model.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Desk:
    """One tree to work on: its files with the edits so far, and the code graph of how it was at first."""

    workspace: Workspace
    snapshot: Snapshot
    tree: str
    """Digest of the tree as it was at first (`desks.digest`)."""
    page_characters: int = 9_000
    """The longest page of an answer: about a tenth of what an attempt may read in all."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool says back to the model."""

    text: str
    """Safe to show: what could forge a turn of the chat or can't be seen is escaped (model/prompts/untrusted.py)."""
    ok: bool = True
    """False: nothing was done, and the text says why and what to do instead."""
    malformed: bool = False
    """Nothing could be done because of how the call was written: no such tool, or not the arguments it takes."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The agent is done; `diff` is not empty."""

    diff: str
