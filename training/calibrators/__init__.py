"""Fit calibrators, which turn votes and other evidence into probabilities.

In: run files of `r4p evaluate`, or labelled history. Out: a calibrator with held-out metrics.
May call corpus and labels.
"""
