"""Tests of `app/outcomes/`."""
