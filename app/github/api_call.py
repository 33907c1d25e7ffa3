"""One request to GitHub and its answer, as values (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Method(StrEnum):
    """The verbs we use; nothing here deletes."""

    GET = "GET"
    POST = "POST"
    PATCH = "PATCH"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, without the credentials it will carry."""

    method: Method
    path: str
    """From the API's base, beginning with a slash: `/repos/o/r/issues/1`."""
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Json = None
    etag: str | None = None
    """Ask for the answer only if it is no longer this one."""
    changes: bool = True
    """A POST that only asks (GraphQL queries, tokens) says False: losing its answer loses nothing."""

    @property
    def writes(self) -> bool:
        """Whether something on GitHub may be different afterwards."""
        return self.method is not Method.GET and self.changes

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Response:
    """What came back, whatever the status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: str

    @property
    def server_time(self) -> datetime | None:
        """The moment on GitHub's clock, to whole seconds; None when it isn't said."""
        try:
            moment = parsedate_to_datetime(self.headers.get("date", ""))
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
