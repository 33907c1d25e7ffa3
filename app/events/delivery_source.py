"""One delivery being read, and what every event about a repository has in common (pure)."""

import re
from dataclasses import dataclass

from app.events.event import GHOST, Actor, Repository
from app.events.payload import Payload, UnreadableError
from app.values.identifiers import DeliveryGuid, InstallationId, RepositoryId, RepositoryRef

NAME_LIMIT = 255
"""Characters of a login, a branch, a slug: GitHub allows fewer."""

_FULL_NAME = re.compile(r"[A-Za-z0-9][\w-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A payload with what is known of it from outside."""

    delivery: DeliveryGuid
    payload: Payload
    action: str
    own_app: int | None

    @property
    def sender(self) -> Actor:
        return read_actor(self.payload, "sender")

    @property
    def repository(self) -> RepositoryRef:
        repository = read_repository(self.payload.part("repository"))
        return RepositoryRef(self.installation, repository.id, repository.full_name)

    @property
    def installation(self) -> InstallationId:
        return InstallationId(self.payload.part("installation").number("id"))


def read_actor(parent: Payload, name: str) -> Actor:
    """An account; GitHub's ghost where the payload holds null."""
    account = parent.maybe_part(name)
    if account is None:
        return GHOST
    login = account.text("login", NAME_LIMIT)
    kind = account.maybe_text("type", NAME_LIMIT)
    return Actor(account.number("id"), login, is_bot=kind == "Bot" or login.endswith("[bot]"))


def read_repository(repository: Payload) -> Repository:
    """A repository whose name is safe to build a URL or a path from."""
    full_name = repository.text("full_name", NAME_LIMIT)
    if not _FULL_NAME.fullmatch(full_name):
        raise UnreadableError("a repository's full_name is malformed: it should be owner/name")
    return Repository(RepositoryId(repository.number("id")), full_name)
