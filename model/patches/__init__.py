"""Unified diffs, and git itself.
In: the text of a patch. Out: changed files, changed lines, fingerprints and similarity.
May call: no other room.
"""
