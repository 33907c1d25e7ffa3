"""Tests of `app/values/`."""
