"""Back-translation: a language model writes the issue that a commit resolves.
In: a commit's message, diffs and failing tests, and an engine. Out: a statement without leaks, or the reason why there is none.
May call: model and `training.gym.leak_check`.
"""
