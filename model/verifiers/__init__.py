"""Patches in, verdicts out: one module per way to verify."""
