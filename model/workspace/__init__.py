"""A tree of code that an agent reads and edits: nothing outside it can be reached, nothing on disk is written."""

from model.workspace.tree import TreeLimits, Workspace

__all__ = ["TreeLimits", "Workspace"]
