"""From an issue to a verdict: collect its rivals, seat them, ask the verifier, calibrate, find stuck evaluations.
May call: agents, publishing, repositories, queue, git.
"""
