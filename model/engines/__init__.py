"""Engines run a language model; one module per way to run it.
In: chat messages. Out: completions with token counts and log-probabilities.
May call: voting.yes_no_probability. An engine knows nothing of issues or patches.
"""
