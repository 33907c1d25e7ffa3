"""Tests of `app/`."""
