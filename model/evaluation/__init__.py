"""Evaluation measures how often a verifier is right.
In: groups of patches with known labels. Out: judged groups, metrics and 95 % intervals.
May call: catalog, verifiers, calibration, rivals, voting, prompts, patches.
"""
