"""Calibrators turn what a verifier believes into a probability.
In: evidence about a patch and a fitted calibrator. Out: a calibrated probability and verdict.
May call: voting and verdict_json. The fit itself is in training.
"""
