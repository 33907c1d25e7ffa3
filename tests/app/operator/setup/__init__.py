"""Tests of the setup, in a browser and in a terminal."""
