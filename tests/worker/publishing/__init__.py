"""Tests of `worker/publishing/`."""
