"""Calibrators turn the belief of a verifier into a probability.
In: votes, scores and a fitted calibrator. Out: probabilities, and claims above a threshold.
May call: voting. Fitting is in `training`.
"""
