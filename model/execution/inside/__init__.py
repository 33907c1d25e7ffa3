"""The part of test execution that runs in the sandbox, in the same process as a stranger's code.
In: one task as JSON, a secret key on standard input. Out: signed lines about each test on a pipe.
May call: sandbox.limits. The reporters use the standard library only, for they run in the repository's environment.
"""
