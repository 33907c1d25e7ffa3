"""Where answers are kept that GitHub lets us revalidate for free: a 304 costs no quota."""

from dataclasses import dataclass
from typing import Protocol

from app.values.identifiers import InstallationId


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer and its tag."""

    etag: str
    body: str


class EtagStore(Protocol):
    """Answers per installation, so that what one may see never reaches another."""

    def get(self, installation: InstallationId, path: str) -> CachedAnswer | None:
        """The last answer kept for this path with its query, None when there is none."""
        ...

    def put(self, installation: InstallationId, path: str, cached: CachedAnswer) -> None:
        """Keep this answer in place of an earlier one."""
        ...
