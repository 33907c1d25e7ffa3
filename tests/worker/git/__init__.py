"""Tests of `worker/git/`."""
