"""Decide whether a trained candidate may replace the champion.

In: a run folder and a dataset. Out: `evaluation.json` and `gate.json` in the run folder.
May call evaluation, curation, runs, datasets, labels and plans.
"""
