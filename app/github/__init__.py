"""GitHub's API: read facts, publish texts, and download deliveries. The modules here are its values.
In: repositories, numbers and finished texts. Out: facts, ids of what was written, and typed errors.
`wire` reads JSON, `http` sends calls, `api` asks and publishes. Each room may call the rooms before it.
May call: settings, values.
"""
