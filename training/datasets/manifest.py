"""What a dataset says of itself: how it came about, what was dropped on the way and why, what is in it (pure)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

SCHEMA = "r4p.dataset/1"
UNKNOWN = "unknown"
"""Stands for the licence of whoever's is not known."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way from what was found to what is learnt from."""

    name: str
    issues: int
    """Kept."""
    units: int
    """Kept of what the step looks at: patches, or groups once they are formed."""
    dropped: Mapping[str, int]
    """Issues, patches or groups, by reason."""


@dataclass(frozen=True, slots=True)
class Split:
    """What one file holds."""

    sha256: str
    groups: int
    issues: int
    repositories: int
    unknown: int
    """Seats without a label: patches nobody knows about, and padding."""
    positives: Mapping[str, int]
    """Groups by their number of correct patches."""
    licences: Mapping[str, int] = field(default_factory=dict)
    """Groups by their repository's licence; empty: written before it was kept."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """How a dataset came about, and what is in it."""

    seed: int
    as_of: str | None
    """Outcomes are as they were then, ISO 8601; None: there are none."""
    rules: Mapping[str, int]
    """Versions of the rules by which it was made."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Names of the files it was made from, by the SHA-256 of what they hold."""
    steps: tuple[Step, ...] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    schema: str = SCHEMA

    @property
    def digest(self) -> str:
        """SHA-256 that differs wherever two datasets differ."""
        return hashlib.sha256(self.json.encode()).hexdigest()

    @property
    def json(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), indent=2) + "\n"
