"""Define what training optimises: rewards, advantages, importance weights and losses.

In: replies, targets and log-probabilities as plain numbers or tensors. Out: numbers of the same shape.
None means unknown, never 0. May call plans.
"""
