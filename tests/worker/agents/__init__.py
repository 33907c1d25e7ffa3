"""Tests of `worker/agents/`."""
