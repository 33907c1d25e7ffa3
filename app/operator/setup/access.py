"""Who may use the setup page: the person who has the one-time token, in one browser (pure, but for the clock)."""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

TOKEN_SECONDS: Final = 3_600.0
"""How long the token is accepted, and how long the browser that gave it may go on."""


@dataclass(slots=True)
class SetupAccess:
    """The token, which is spent by its first use, and the secrets of the browser that gave it."""

    monotonic: Callable[[], float] = time.monotonic
    token: str = field(init=False, default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    csrf: str = field(init=False, default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    _session: str | None = field(init=False, default=None, repr=False)
    _state: str | None = field(init=False, default=None, repr=False)
    _made_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._made_at = self.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the time of the token and of its browser is over."""
        return self.monotonic() - self._made_at > TOKEN_SECONDS

    def open_session(self, token: str) -> str | None:
        """Spend the token, and return the browser's session for its cookie; None: the token is wrong or spent."""
        if self.is_over or self._session is not None or not _is_same(token, self.token):
            return None
        self._session = secrets.token_urlsafe(32)
        return self._session

    def has_session(self, session: str) -> bool:
        """Report whether a cookie is that of the browser which gave the token."""
        return not self.is_over and self._session is not None and _is_same(session, self._session)

    def is_own_form(self, csrf: str) -> bool:
        """Report whether a form comes from our own page."""
        return _is_same(csrf, self.csrf)

    @property
    def state(self) -> str:
        """The value that GitHub will send back with its code. It stays the same until it is spent or replaced."""
        return self._state or self.create_state()

    def create_state(self) -> str:
        """Return a new value that GitHub sends back with its code. An earlier one is void."""
        self._state = secrets.token_urlsafe(24)
        return self._state

    def spend_state(self, state: str) -> bool:
        """Report whether GitHub sent the newest state back. It counts once, and a wrong one changes nothing."""
        if self._state is None or not _is_same(state, self._state):
            return False
        self._state = None
        return True


def _is_same(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
