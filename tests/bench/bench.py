"""What every subject is given: services, how long to measure, and whom to tell how far it is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.support.measurements import Figure
from tests.services import Services


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    """Pairs of ours and an anchor; the median counts."""
    seconds: float
    """Of load, per run."""
    groups: int
    """Verdicts to wait for."""


FULL = Scale(rounds=3, seconds=6.0, groups=12)
QUICK = Scale(rounds=1, seconds=1.5, groups=3)


@dataclass(frozen=True, slots=True)
class Bench:
    """The surroundings of a subject."""

    services: Services
    scale: Scale
    scratch: Path
    """An empty directory, removed afterwards."""
    peers: Path
    """Where virtual environments of peers are kept between runs."""
    step: Callable[[str], None]
    """Says what begins now."""
    data: Path | None = None
    """The folder with labelled groups."""


class NotMeasured(Exception):
    """Something a subject needs is not on this machine; the message says what, and how to get it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to measure."""

    name: str
    about: str
    """How it was measured, in a few sentences for the page."""
    measure: Callable[[Bench], list[Figure]]
