"""Prompt-injection attacks on verifiers, and the harmless text they are compared with.
In: labelled groups. Out: attacked groups, and a count of the verdicts that changed.
May call: the modules of evaluation, patches and prompts.
"""
