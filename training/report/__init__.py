"""Build the HTML page of one training run.

In: a run folder, also of an unfinished run. Out: sections with curves, tables and the gate's findings.
May call gate, evaluation, runs and datasets.
"""
