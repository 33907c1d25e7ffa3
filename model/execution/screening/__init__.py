"""Screening reads a patch and says which results of its tests say nothing.
In: a tree, the changes of a patch, results of tests. Out: code that reaches for the runner, and tests that the patch rewrites.
May call: the code graph, and the changes and results of `model.execution`.
"""
