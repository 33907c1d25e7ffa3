"""Tests of `app/policy/`."""
