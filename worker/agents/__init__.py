"""Agents that write alternatives, each in a sandboxed process without secrets.
In: an evaluation that waits. Out: attempts, their cost, and rival patches.
May call: outcomes (hints), repositories, queue, git (trees).
"""
