"""A repository's own state here: its settings, missed webhooks, and what must be forgotten.
In: the jobs about one repository or installation. Out: stored settings, recovered deliveries, deleted data.
May call: queue, git.
"""
