"""The web process. It takes a webhook, checks its signature, and stores the delivery with its jobs.
It also serves `/healthz`, `/readyz` and `/metrics`.
May call: db, dispatch, events, policy, jobs, learning, github, settings, logs, metrics, values.
"""
