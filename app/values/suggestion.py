"""The known name that an unknown one was probably meant to be."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like this one; None where none is alike enough."""
    near = process.extractOne(name, names, scorer=fuzz.ratio, score_cutoff=60)
    return near[0] if near else None
