"""A sandbox is a process behind bubblewrap: no network, no secret, an empty environment, and limits.
In: a program, and the folders that it may read. Out: a command line, and the process with its output.
May call: errors and prompts.untrusted.
"""
