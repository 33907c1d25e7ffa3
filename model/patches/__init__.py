"""Readers of unified diffs, and a safe way to run git.
In: the text of a patch. Out: changed files, changed lines, fingerprints and similarity.
May call: no other room.
"""
