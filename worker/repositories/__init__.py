"""A repository's own state here: its settings, missed webhooks, and what must be forgotten.
May call: queue, git.
"""
