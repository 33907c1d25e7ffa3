"""The queue of record and the exchange with GitHub: jobs, deliveries, effects, ETags, write limits.
May call: tables, session, jobs, github, policy.
"""
