"""A workspace is a directory that an agent reads and edits in memory.
In: a directory. Out: file contents and one unified diff. No path outside it opens; no file on disk changes.
May call: patches.git.
"""

from model.workspace.workspace import TreeLimits, Workspace

__all__ = ["TreeLimits", "Workspace"]
