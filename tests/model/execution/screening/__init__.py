"""Tests of what screening reads in a patch."""
