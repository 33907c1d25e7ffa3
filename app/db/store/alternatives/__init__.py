"""What the bot's agents wrote: attempts, proposals, hints, second-attempt matches, draft pull requests.
May call: store.issues, tables.
"""
