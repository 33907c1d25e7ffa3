"""Tests of `app/db/store/alternatives/`."""
