"""What the bot learns from: outcomes recorded by the worker, read through one door."""
