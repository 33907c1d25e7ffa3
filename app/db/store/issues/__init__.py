"""Issues with their rival pull requests, candidates, evaluations and votes. Also webhook state and purge.
May call: store.queue, tables.
"""
