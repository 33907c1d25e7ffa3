"""Decisions about trained models (pure): when to train, what the gate asks, which model judges, when a canary stops.
In: counts, states and measurements. Out: a decision with its reason.
May call: no other room.
"""
