"""Derive labels of submitted patches from what happened to their pull requests.

In: recorded history and labels checked by hand. Out: a grade, a probability and a weight for each patch.
Calls no other room of training. No I/O.
"""
