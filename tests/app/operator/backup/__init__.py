"""Tests of `app/operator/backup/`."""
