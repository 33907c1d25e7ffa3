"""Tests of `app/db/store/models/`."""
