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
        """Position in the order; 0 is the lowest."""
        return list(Permission).index(self)

    @classmethod
    def parse(cls, word: str | None) -> "Permission":
        """Parse GitHub's field `permission` or `role_name`.

        An organisation's own role name proves nothing, so it gives NONE.
        """
        return cls(word) if word in set(cls) else cls.NONE
