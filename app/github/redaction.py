"""Mask secrets in text that leaves the process: logs, stored errors, messages.

Known secrets are masked by value, others by their shape.
"""

import re
import threading
from collections import OrderedDict
from typing import Final

MASK: Final = "[secret]"

_SHAPES: Final = re.compile(
    r"""
    gh[a-z]_[A-Za-z0-9._-]{20,}                              # GitHub tokens, the 520-character ones too
  | github_pat_[A-Za-z0-9_]{20,}
  | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*  # JSON web tokens
  | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
  | (?<=basic\ )[A-Za-z0-9+/]{16,}={0,2}                     # an Authorization header's value
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_SHORTEST: Final = 8
_MOST: Final = 1_000

_lock = threading.Lock()
_secrets: OrderedDict[str, None] = OrderedDict()


def remember(secret: str) -> None:
    """Mask a secret in all later logs and messages, unless it is shorter than eight characters.

    The process keeps the newest 1,000 secrets; a token is worthless after an hour.
    """
    if len(secret) < _SHORTEST:
        return
    with _lock:
        _secrets[secret] = None
        _secrets.move_to_end(secret)
        while len(_secrets) > _MOST:
            _secrets.popitem(last=False)


def redact(text: str) -> str:
    """Return a text with `[secret]` in place of every known secret and of everything that looks like a secret."""
    with _lock:
        present = [secret for secret in _secrets if secret in text]
    for secret in sorted(present, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _SHAPES.sub(MASK, text)
