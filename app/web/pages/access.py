"""Who sees what: the signed-in person's repositories, asked of GitHub with the person's own token."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import SecretStr

from app.github.api.person import PersonApi, RepositoryRight
from app.values.identifiers import RepositoryId
from app.values.permission import Permission
from app.web.pages.session import Session

CACHE_SECONDS: Final = 60.0
"""How long a person's rights are believed. A person who loses access still reads for so long."""
_MAX_PEOPLE: Final = 500

Rights = Mapping[RepositoryId, RepositoryRight]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person for whom a page is made."""

    login: str
    person: int
    csrf: str
    is_operator: bool
    rights: Rights

    @property
    def repositories(self) -> list[int]:
        """Ids of the repositories that the person may read."""
        return list(self.rights)

    def has_permission(self, repository: RepositoryId, least: Permission) -> bool:
        """Return whether the person has at least the permission `least` in a repository."""
        right = self.rights.get(repository)
        return right is not None and right.permission.rank >= least.rank


@dataclass(slots=True)
class RightsCache:
    """Remembers each person's rights for a minute, by a hash of the token. Threads may share it."""

    api: PersonApi
    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[str, tuple[float, Rights]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, session: Session) -> Rights:
        """Return the person's rights by repository id. Raises PersonUnknown and PersonUnreadable."""
        key, now = _hash_token(session), self.clock()
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and now - kept[0] < CACHE_SECONDS:
            return kept[1]
        rights = {
            right.repository: right for right in self.api.list_rights(SecretStr(session.token))
        }
        with self._lock:
            self._kept[key] = (now, rights)
            self._kept.move_to_end(key)
            while len(self._kept) > _MAX_PEOPLE:
                self._kept.popitem(last=False)
        return rights

    def forget(self, session: Session) -> None:
        """Forget a person's rights, because the session ends."""
        with self._lock:
            self._kept.pop(_hash_token(session), None)


def _hash_token(session: Session) -> str:
    return hashlib.sha256(session.token.encode()).hexdigest()
