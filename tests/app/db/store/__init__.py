"""Tests of what is stored."""
