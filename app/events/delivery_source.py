"""One delivery, and the values that all events about a repository share (pure)."""

import re
from dataclasses import dataclass

from app.events.event import GHOST, Actor, InstalledRepository
from app.events.payload import Payload, UnreadableError
from app.values.identifiers import DeliveryGuid, InstallationId, RepositoryId, RepositoryRef

NAME_LIMIT = 255
"""Most characters of a login, a branch or a slug. GitHub allows fewer."""

_FULL_NAME = re.compile(r"[A-Za-z0-9][\w-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A webhook's payload with its delivery id, its action and the id of our own App."""

    delivery: DeliveryGuid
    payload: Payload
    action: str
    own_app: int | None

    @property
    def sender(self) -> Actor:
        return read_actor(self.payload, "sender")

    @property
    def repository(self) -> RepositoryRef:
        repository = read_repository(self.payload.get_object("repository"))
        return RepositoryRef(self.installation, repository.id, repository.full_name)

    @property
    def installation(self) -> InstallationId:
        return InstallationId(self.payload.get_object("installation").get_number("id"))


def read_actor(parent: Payload, name: str) -> Actor:
    """Return the GitHub account in the field `name` of `parent`; GHOST, a deleted account, if it is null."""
    account = parent.find_object(name)
    if account is None:
        return GHOST
    login = account.get_text("login", NAME_LIMIT)
    kind = account.find_text("type", NAME_LIMIT)
    return Actor(account.get_number("id"), login, is_bot=kind == "Bot" or login.endswith("[bot]"))


def read_repository(repository: Payload) -> InstalledRepository:
    """Return the repository in a JSON object of a webhook payload. Its name is safe in a URL or a path.

    Raises UnreadableError for any other name.
    """
    full_name = repository.get_text("full_name", NAME_LIMIT)
    if not _FULL_NAME.fullmatch(full_name):
        raise UnreadableError("a repository's full_name is malformed: it should be owner/name")
    return InstalledRepository(RepositoryId(repository.get_number("id")), full_name)
