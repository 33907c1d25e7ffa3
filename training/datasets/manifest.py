"""Describe a dataset: its origin, what curation dropped and why, and its splits (pure)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

SCHEMA = "r4p.dataset/1"
UNKNOWN = "unknown"
"""Stands for an unknown licence."""


@dataclass(frozen=True, slots=True)
class CurationStep:
    """How many issues and patches one curation step kept, and what it dropped."""

    name: str
    issues: int
    """Issues kept."""
    units: int
    """Patches kept, or groups once they are formed."""
    dropped: Mapping[str, int]
    """Dropped issues, patches or groups by reason."""


@dataclass(frozen=True, slots=True)
class SplitSummary:
    """What the file of one dataset split contains."""

    sha256: str
    groups: int
    issues: int
    repositories: int
    unknown: int
    """Seats without a label: unknown patches and padding."""
    positives: Mapping[str, int]
    """Groups by their number of correct patches."""
    licences: Mapping[str, int] = field(default_factory=dict)
    """Groups by the licence of their repository. Empty in files from before licences were stored."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Origin and contents of a dataset: its sources, the curation steps, and its splits by name."""

    seed: int
    as_of: str | None
    """Time of the outcomes, ISO 8601. None: no outcomes."""
    rules: Mapping[str, int]
    """Versions of the rules that built it."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Names of the source files by the SHA-256 of their contents."""
    steps: tuple[CurationStep, ...] = ()
    splits: Mapping[str, SplitSummary] = field(default_factory=dict)
    schema: str = SCHEMA

    @property
    def digest(self) -> str:
        """SHA-256 of the text of `manifest.json`, which identifies the dataset."""
        return hashlib.sha256(self.json.encode()).hexdigest()

    @property
    def json(self) -> str:
        """The text of `manifest.json`."""
        return json.dumps(asdict(self), indent=2) + "\n"
