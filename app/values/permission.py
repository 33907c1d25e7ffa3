"""What GitHub lets an account do in a repository (pure)."""

from enum import StrEnum


class Permission(StrEnum):
    """GitHub's words, least first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Permission).index(self)

    @classmethod
    def named(cls, word: str | None) -> "Permission":
        """From `permission` or `role_name`; an organisation's own role name proves nothing: none."""
        return cls(word) if word in set(cls) else cls.NONE
