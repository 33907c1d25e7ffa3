"""What the repository's tests showed: on each candidate of a group, and on the base.
May call: store.queue, tables.
"""
