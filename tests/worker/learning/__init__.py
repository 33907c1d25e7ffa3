"""Tests of `worker/learning/`."""
