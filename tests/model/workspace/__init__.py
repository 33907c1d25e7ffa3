"""Tests of a tree that an agent works on."""
