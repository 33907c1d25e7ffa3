"""Commits of a git repository: which are small enough for a task, what they need, and how their tests are run.
In: a git repository. Out: commits, refusals with reasons, declared requirements, test commands. Nothing of it runs.
May call: model.
"""
