"""Frozen values that say which files of a patch, and which code of the base, a verifier read (pure)."""

from dataclasses import dataclass
from enum import StrEnum


class UnreadReason(StrEnum):
    """Why a verifier did not read a file of a patch whole."""

    BINARY = "binary"
    SUBMODULE = "submodule"
    FILE_MODE = "file_mode"
    """The patch changes the file's mode, such as its executable bit. No verifier was measured on such patches."""
    ENCODING = "encoding"
    """A changed line holds bytes that are not UTF-8."""
    NOT_IN_DIFF = "not_in_diff"
    """The diff names the file or the submodule and shows no change of it."""
    RENAME = "rename"
    """The file moves without a change. A language model reads that, and consensus compares no names."""
    LOCK_FILE = "lock_file"
    """A package manager wrote the file, and the patch changes other files too."""
    DOCUMENTATION = "documentation"
    """Consensus compares no prose beside code."""

    @property
    def permits_claim(self) -> bool:
        """Whether a verdict may claim something although this file was not read."""
        return self in {UnreadReason.LOCK_FILE, UnreadReason.DOCUMENTATION}


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A file of a patch that the verifier did not read whole, with the reason."""

    path: str
    """Untrusted."""
    reason: UnreadReason


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many files of a patch the verifier saw, out of all its files, and which it did not read whole."""

    files: int
    files_seen: int
    unread: tuple[UnreadPart, ...] = ()
    """In the order of the diff. Empty for a patch that was not judged."""

    @property
    def is_whole(self) -> bool:
        """Whether a verdict may claim something: only lock files and documentation were not read."""
        harmless = sum(part.reason.permits_claim for part in self.unread)
        return self.files_seen + harmless >= self.files


@dataclass(frozen=True, slots=True)
class ShownCode:
    """The code of the base that a prompt showed beside the patches."""

    definitions: int = 0
    """The number of functions and methods that were shown."""
    missing: str | None = None
    """Why the code could not be read. None: it was read, and all that fits was shown."""
