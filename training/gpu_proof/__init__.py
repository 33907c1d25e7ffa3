"""Prove training on a rented machine with one GPU: pack parts here, run slices there, report here.

In: the public groups, weights, wheels. Out: parts with SHA-256, then a report that calls no gain no gain.
It calls trainers, verifiers and calibrators, and trains and judges nothing itself.
"""
