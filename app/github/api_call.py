"""Define a request to GitHub's API and its response as values (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Method(StrEnum):
    """HTTP methods of the bot's calls to GitHub. The bot deletes doubles of its own comments only."""

    GET = "GET"
    POST = "POST"
    PATCH = "PATCH"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request to GitHub's API, without its credentials."""

    method: Method
    path: str
    """Path below the API's base, with a leading slash: `/repos/o/r/issues/1`."""
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Json = None
    accept: str = "application/vnd.github+json"
    """Media type of the wanted response."""
    etag: str | None = None
    """ETag of a cached response. GitHub sends the content only if it changed since."""
    changes: bool = True
    """False for a POST that only reads, such as a GraphQL query. A lost answer to it loses nothing."""

    @property
    def writes(self) -> bool:
        """Return whether the call can change something on GitHub."""
        return self.method is not Method.GET and self.changes

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response of GitHub's API, with any status."""

    status: int
    headers: Mapping[str, str]
    """Values by the name of the header in lower case."""
    body: str

    @property
    def server_time(self) -> datetime | None:
        """Return the response's time on GitHub's clock, in whole seconds; None without a valid header `Date`."""
        try:
            moment = parsedate_to_datetime(self.headers.get("date", ""))
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
