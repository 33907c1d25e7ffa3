"""What became of judged pull requests: raw events, permissions, derived outcomes, history, rows for training.
May call: store.issues, store.models, tables.
"""
