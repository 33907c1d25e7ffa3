"""Measure how well verifiers judge labelled groups.

In: groups with labels and the replies to them. Out: metrics, intervals and p-values, paired by issue.
May call datasets, objective and labels.
"""
