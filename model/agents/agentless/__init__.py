"""Agentless Mini locates files, samples repairs and picks the most frequent edit.
In: an issue and a tree. Out: an attempt, with no loop and no tool.
May call: tools, trajectories and the modules of agents.
"""
