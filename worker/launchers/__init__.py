"""Who computes what a training computes: this machine, or a cluster that is asked for GPUs."""
