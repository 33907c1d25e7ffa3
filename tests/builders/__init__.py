"""Builders and servers that tests of several rooms share, one module a subject."""
