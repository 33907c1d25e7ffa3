"""GitHub's API. The modules here are values: a call, its answer, errors, endpoints, facts, redaction.
`wire` reads JSON, `http` sends calls, `api` asks and publishes. Each room may call the rooms before it.
May call: settings, values.
"""
