"""Commands for the operator, and the processes that they start: `r4p up`, `doctor`, `jobs`, `models`, `train status`.
May call: every room but web.
"""
