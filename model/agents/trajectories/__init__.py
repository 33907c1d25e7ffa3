"""The record of an attempt, and the hint that a second attempt receives.
In: steps of an agent and feedback from people. Out: trajectories, as values and as JSON.
May call: prompts.
"""
