"""What was learnt, as data: written by `training/`, read by `model/`."""
