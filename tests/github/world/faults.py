"""Faults that a test orders: the requests that fail, how, and how often."""

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase


class Kind(StrEnum):
    """The kinds of faults. After `*_AFTER_EFFECT` GitHub did the work, and the answer is lost."""

    BAD_GATEWAY = "502"
    BAD_GATEWAY_AFTER_EFFECT = "502_after_effect"
    RESET = "reset"
    RESET_AFTER_EFFECT = "reset_after_effect"
    TIMEOUT = "timeout"
    TIMEOUT_AFTER_EFFECT = "timeout_after_effect"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    SECONDARY_LIMIT = "403_secondary"
    """No Retry-After, quota left, a reset in the past; the client stays blocked."""
    PRIMARY_LIMIT = "403_primary"
    """The hourly budget is gone; the reset is an hour away."""
    TOO_MANY = "429"
    UNAUTHORIZED = "401"
    GARBLED = "garbled"
    """200 with half of the JSON."""
    HTML = "html"
    """502 with a page instead of JSON."""

    @property
    def after_effect(self) -> bool:
        """Return whether GitHub does the work before the answer breaks."""
        return self.value.endswith("_after_effect") or self is Kind.GARBLED


@dataclass(slots=True)
class Fault:
    """A rule: requests whose `METHOD /path` matches fail, `times` times after `skip` passes."""

    match: str
    kind: Kind
    times: int = 1
    skip: int = 0
    seconds: float = 72.0
    """For blocks: simulated seconds. For timeouts: real seconds the answer is withheld."""
    hits: int = field(default=0)

    def applies(self, operation: str) -> bool:
        """Return whether this request fails, and count it."""
        if self.times <= 0 or not fnmatchcase(operation, self.match):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        self.hits += 1
        return True


class Faults:
    """The rules in force, oldest first."""

    def __init__(self) -> None:
        self.rules: list[Fault] = []

    def take(self, operation: str) -> Fault | None:
        """Return the fault for `METHOD /path`, if any."""
        return next((rule for rule in self.rules if rule.applies(operation)), None)
