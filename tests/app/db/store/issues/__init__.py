"""Tests of `app/db/store/issues/`."""
