"""Define the store of responses that can be revalidated: a 304 costs no quota."""

from dataclasses import dataclass
from typing import Protocol

from app.values.identifiers import InstallationId


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A response and its tag."""

    etag: str
    body: str


class EtagStore(Protocol):
    """Stores responses per installation, so that none reaches another installation."""

    def get(self, installation: InstallationId, path: str) -> CachedAnswer | None:
        """Return the last response for a path with its query, or None."""
        ...

    def put(self, installation: InstallationId, path: str, cached: CachedAnswer) -> None:
        """Store a response in place of an earlier one."""
        ...
