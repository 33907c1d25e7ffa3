"""Decisions about issues, pull requests and commands (pure).
In: events, stored facts and the repository's settings. Out: jobs, rival links, seats, refusals.
May call: events, jobs, github (facts only), settings, values.
"""
