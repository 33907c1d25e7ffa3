"""Tests of `app/jobs/`."""
