"""Tests of `worker/queue/`."""
