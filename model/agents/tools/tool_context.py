"""The input of a tool and its two possible results."""

from dataclasses import dataclass

from model.codegraph.snapshot import Snapshot
from model.prompts.special_tokens import SpecialTokens
from model.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What an agent's tools work on: a tree's files with the edits so far, and the code graph of the original files."""

    workspace: Workspace
    snapshot: Snapshot
    tree: str
    """Digest of the original tree, by `compute_tree_digest`."""
    page_characters: int = 9_000
    """Characters of the longest page of a result: about a tenth of what an attempt may read in all."""
    special_tokens: SpecialTokens = None
    """The special tokens of the engine that reads the results."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The text that a tool returns to the model."""

    text: str
    """Safe to show: chat tokens and invisible characters are escaped by `model.prompts.untrusted`."""
    ok: bool = True
    """False: nothing was done, and the text says why and what to do instead."""
    malformed: bool = False
    """The call itself was wrong: an unknown tool or invalid arguments."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The result of the tool call that submits an agent's work."""

    diff: str | None
    """The agent's patch, which is not empty; None where the call's arguments are the work."""
