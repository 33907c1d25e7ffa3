"""Suggests a valid name for a misspelt one."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process


def find_nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, or None if no name is similar enough."""
    match = process.extractOne(name, names, scorer=fuzz.ratio, score_cutoff=60)
    return match[0] if match else None
