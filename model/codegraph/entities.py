"""What a code graph holds, and what is said of how it was made (pure)."""

from dataclasses import dataclass
from enum import StrEnum


class Construct(StrEnum):
    """What can be looked up. A method is a function whose innermost enclosing definition is a class."""

    FUNCTION = "function"
    CLASS = "class"
    CLASS_METHOD = "class_method"


@dataclass(frozen=True, slots=True)
class Entity:
    """One definition. Its range begins with its decorators; lines count from 1 and are inclusive."""

    construct: Construct
    name: str
    qualified_name: str
    """The names around it and its own, joined by dots."""
    path: str
    """Relative to the root of the tree, with forward slashes."""
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str
    """What stands before the body, without decorators, on one line."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What making a snapshot took."""

    files: int
    """In a language that is known, left out or not."""
    parsed: int
    reused: int
    """Known from an earlier snapshot, or by another path of the same content."""
    entities: int
    seconds: float
    bytes: int
    """Of the files' content, of those that were not left out."""
    skipped: tuple[Skipped, ...] = ()
    broken: tuple[str, ...] = ()
    """Paths whose syntax is broken: what can be made out is in the index, more may be missing."""
