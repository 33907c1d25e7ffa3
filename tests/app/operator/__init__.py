"""Tests of `app/operator/`."""
