"""What people do around a verdict: events, permissions, reactions, surviving lines, hints for second attempts.
In: stored events, the git history and GitHub's answers. Out: raw outcome events and derived outcomes.
May call: repositories, queue, git.
"""
