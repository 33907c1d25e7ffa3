"""Tests of `worker/`."""
