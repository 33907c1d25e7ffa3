"""Define the plan of a training run: its values, its TOML file and its consistency checks.

In: a TOML file or a shipped plan's name. Out: a frozen `TrainPlan`, or an error with key, value and fix.
Calls no other room. The shipped plans are the TOML files here.
"""
