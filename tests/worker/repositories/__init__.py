"""Tests of `worker/repositories/`."""
