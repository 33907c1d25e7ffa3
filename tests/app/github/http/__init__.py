"""Tests of `app/github/http/`."""
