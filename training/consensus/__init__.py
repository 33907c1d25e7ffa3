"""Fit and measure the consensus model, which judges rivals without a language model.

In: labelled groups and pools of patches. Out: the artefact in `model/rivals` and Markdown tables.
May call calibrators.
"""
