"""Tests of `worker/outcomes/`."""
