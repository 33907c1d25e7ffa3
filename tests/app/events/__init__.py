"""Tests of `app/events/`."""
