"""Test execution runs a repository's tests on a patched tree in a sandbox and compares the results with the base's.
In: a source tree, a diff, a test command. Out: outcomes of tests, and what a patch breaks. `inside` runs in the sandbox.
May call: sandbox, workspace and patches.
"""
