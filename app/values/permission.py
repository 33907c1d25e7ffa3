"""GitHub's permissions of an account in a repository (pure)."""

from enum import StrEnum


class Permission(StrEnum):
    """An account's permission in a repository, in GitHub's words, lowest first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Position of the permission in the order of all permissions, from 0 for NONE to 5 for ADMIN."""
        return list(Permission).index(self)

    @classmethod
    def parse(cls, word: str | None) -> "Permission":
        """Return the permission for `word`, GitHub's field `permission` or `role_name`.

        Any other word, or None, gives NONE, because an organisation's own role name proves nothing.
        """
        return cls(word) if word in set(cls) else cls.NONE
