"""Train a model with TRL: SFT, DPO, reward model, and GRPO on groups or agent episodes.

In: a `TrainPlan` and a dataset. Out: checkpoints, an adapter and its probe in a run folder.
May call rollouts, runs, datasets, objective and plans. Most modules load torch.
"""
