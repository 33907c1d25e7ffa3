"""Which release stands for the tree of an issue."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from tests.bench.support.distributions import NotFetched, unbuilt
from tests.proofs.gold import Fit, nearest
from tests.proofs.instances import Instance
from tests.proofs.releases import PACKAGES

_NEIGHBOURS = 4
"""Issues before and after one that say of when it is."""
_RELEASES = 3
"""Before and after theirs."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A release, and how the issue's patch fits it."""

    release: str
    tree: Path
    fit: Fit


def fetch_releases(repo: str, kept: Path, say: Callable[[str], None]) -> dict[str, Path]:
    """The releases of a project, the oldest first; those that can't be had are left out, and said."""
    package = PACKAGES[repo]
    found = {}
    for release in package.releases:
        try:
            found[release] = unbuilt(package.name, release, kept)
        except NotFetched as error:
            say(f"left out: {error}")
    return found


def choose_releases(
    instances: Sequence[Instance], trees: Mapping[str, Path]
) -> list[Chosen | None]:
    """For each issue of one project the release that its patch fits best; None where it fits none.

    `instances` are in the order of their numbers. A few lines may stand in releases of many years, so that only those
    count that are near the ones of the issues before and after.
    """
    releases = tuple(trees)
    first = [_best(one, releases, trees) for one in instances]
    order = [one and releases.index(one.release) for one in first]
    return [_best(one, timely(releases, order, at), trees) for at, one in enumerate(instances)]


def timely(releases: Sequence[str], order: Sequence[int | None], place: int) -> Sequence[str]:
    """The releases around the median of an issue's neighbours, whose places in `releases` are `order`."""
    around = order[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1]
    known = [one for one in around if one is not None]
    middle = round(median(known)) if known else 0
    return releases[max(0, middle - _RELEASES) : middle + _RELEASES + 1] if known else releases


def _best(instance: Instance, releases: Sequence[str], trees: Mapping[str, Path]) -> Chosen | None:
    best = nearest(instance.patch, releases, lambda release, path: text(trees[release], path))
    if best is None or not best[1].is_whole:
        return None
    return Chosen(best[0], trees[best[0]], best[1])


@lru_cache(maxsize=256)
def text(tree: Path, path: str) -> str | None:
    """A file as the code graph reads it: what is no UTF-8 as lone surrogates. None where there is none."""
    try:
        return (tree / path).read_bytes().decode(errors="surrogateescape")
    except OSError:
        return None
