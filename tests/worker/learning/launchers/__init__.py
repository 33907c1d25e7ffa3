"""Tests of `worker/learning/launchers/`."""
