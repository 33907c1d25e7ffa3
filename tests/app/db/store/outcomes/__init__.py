"""Tests of `app/db/store/outcomes/`."""
