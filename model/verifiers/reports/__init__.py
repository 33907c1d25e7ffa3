"""Verifiers whose model writes a text about one patch: a review, a simulated test report, or the grades of a checklist.
In: an issue and its candidates, and for a checklist a source that writes it. Out: verdicts with the text's reasons.
May call: the modules of verifiers and the rooms below it.
"""
