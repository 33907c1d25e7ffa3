"""Where a training stage runs: this machine, SLURM, Kubernetes or Ray.
In: a task. Out: its phase and how it ended.
May call: no other room.
"""
