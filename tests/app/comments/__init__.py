"""Tests of `app/comments/`."""
