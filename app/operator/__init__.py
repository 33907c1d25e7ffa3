"""Commands for the operator, and the processes that they start: `r4p up`, `doctor`, `backup`, `jobs`, `models`, `train status`.
In: arguments and settings. Out: tables or JSON, an exit code, and running processes.
May call: every room but web.
"""
