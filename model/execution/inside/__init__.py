"""The part of test execution that runs in the sandbox, in the same process as a stranger's code.
In: the arguments of a test runner, a secret key on standard input. Out: signed lines about each test on a pipe.
May call: nothing of ours. It uses the standard library only, for it runs in the repository's environment.
"""
