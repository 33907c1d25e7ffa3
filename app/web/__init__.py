"""The web process: take a webhook, check its signature, and store the delivery with its jobs.
In: HTTP requests. Out: rows of deliveries and jobs; also `/healthz`, `/readyz` and `/metrics`.
May call: db, dispatch, events, policy, jobs, learning, github, settings, logs, metrics, values.
"""
