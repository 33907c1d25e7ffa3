"""Export a plan and a dataset as a folder that verl trains from.

In: a `TrainPlan` and a dataset folder. Out: Parquet rows, Hydra overrides, a reward file and scripts.
May call rollouts, datasets, objective and plans.
"""
