"""Tests of `app/db/store/queue/`."""
