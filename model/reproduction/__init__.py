"""Reproduction tests: scripts that a language model writes from an issue, to show whether a patch resolves it.
In: an issue, a source tree, an engine and candidates. Out: the tests to believe, and their outcome for each candidate.
May call: execution, voting, prompts, workspace, patches and any engine.
"""
