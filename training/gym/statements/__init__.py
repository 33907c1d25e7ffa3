"""What a failing test says, in plain English: the steps up to the failure, what happens and what is expected.
In: the sources of tests, the texts of their failures and the diffs that must not leak. Out: lines of a statement.
May call: `training.gym.leak_check`. A way is one possible wording; the first safe one is used.
"""
