"""Tests of `worker/judging/`."""
