"""What people do around a verdict: events, permissions, reactions, surviving lines, hints for second attempts.
May call: repositories, queue, git.
"""
