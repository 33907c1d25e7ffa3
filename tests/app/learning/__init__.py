"""Tests of `app/learning/`."""
