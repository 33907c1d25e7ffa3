"""Tests of `app/github/`."""
