"""Agents that write patches for an issue; one room per agent.
In: an issue, a tree of code and an engine. Out: a patch and the record of the attempt.
May call: verifiers, engines, voting, prompts, codegraph, workspace.
"""
