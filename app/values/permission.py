"""GitHub's permissions of an account in a repository (pure)."""

from enum import StrEnum


class Permission(StrEnum):
    """GitHub's words for an account's permission in a repository, lowest first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Position in the order of permissions; 0 is the lowest."""
        return list(Permission).index(self)

    @classmethod
    def parse(cls, word: str | None) -> "Permission":
        """Return the permission for `word`, GitHub's field `permission` or `role_name`.

        Any other word gives NONE, because an organisation's own role name proves nothing.
        """
        return cls(word) if word in set(cls) else cls.NONE
