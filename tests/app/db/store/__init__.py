"""Tests of `app/db/store/`."""
