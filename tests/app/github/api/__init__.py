"""Tests of `app/github/api/`."""
