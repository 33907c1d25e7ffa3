"""Judged issues and what became of their pull requests, in the database."""
