"""Tests of `app/web/`."""
