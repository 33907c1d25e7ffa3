"""Tests for commits that bring none: calls whose value the true patch changes.
In: the files of a tree and the paths that a commit changes. Out: a test module. The code of the tree runs in a sandbox.
May call: the rooms of `training.gym` and `model.execution`.
"""
