"""From an issue to a verdict: collect its rivals, seat them, ask the verifier, calibrate, find stuck evaluations.
In: the jobs `evaluate_issue`, `verify_group` and `reconcile`. Out: frozen evaluations, votes, verdicts and their next jobs.
May call: agents, publishing, repositories, queue, git.
"""
