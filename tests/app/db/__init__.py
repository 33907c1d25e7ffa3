"""Tests of `app/db/`."""
