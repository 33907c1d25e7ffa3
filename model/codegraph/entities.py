"""The values of a code graph: entities and the report of an indexing (pure)."""

from dataclasses import dataclass
from enum import StrEnum


class EntityKind(StrEnum):
    """The kinds of definitions. A method is a function whose innermost enclosing definition is a class."""

    FUNCTION = "function"
    CLASS = "class"
    CLASS_METHOD = "class_method"


@dataclass(frozen=True, slots=True)
class Entity:
    """A class, function or method of a source tree.

    Its range starts at its decorators; lines count from 1 and both ends are included.
    """

    construct: EntityKind
    name: str
    qualified_name: str
    """The enclosing names and its own, joined by dots."""
    path: str
    """Path from the root of the tree, with forward slashes."""
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str
    """The text before the body, without decorators, on one line."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A source file that the code graph left out, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Counts, time and problems of indexing one source tree."""

    files: int
    """Files in a supported language, including those left out."""
    parsed: int
    """Distinct new contents that this indexing read."""
    reused: int
    """Files known from an earlier snapshot or from another path with the same content."""
    entities: int
    seconds: float
    bytes: int
    """Total content size of the files that were not left out."""
    skipped: tuple[Skipped, ...] = ()
    broken: tuple[str, ...] = ()
    """Paths with broken syntax. The index holds the definitions that could be recognised."""
