"""Tests of `app/settings/`."""
