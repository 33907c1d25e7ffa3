"""Decide whether a failed fetch means that the remote is unreachable, or that its objects are bad
(pure).

Strangers can write text into git's messages, line breaks included. An outage stops the judging of
all rivals. So only git's own sentences count, from their first word, and never beside a bad object.
"""

import re
from typing import Final

FATAL: Final = 128
"""Git's exit status when git itself gave up."""

_NO_WAY: Final = re.compile(
    r"fatal: unable to access '"  # curl's word follows: name, connection, certificate, HTTP status
    r"|fatal: repository '.*' not found$"
    r"|fatal: Authentication failed for '"
    r"|fatal: could not read (Username|Password) for '"
    r"|error: RPC failed; "
    r"|fatal: the remote end hung up (unexpectedly|upon initial contact)$"
    r"|fetch-pack: unexpected disconnect while reading sideband packet$"
    r"|fatal: early EOF$"
    r"|fatal: expected flush after ref listing$"
)
# Git prints this before a line of `_NO_WAY` when it aborts a fetch because of a bad object. The
# connection then breaks as a consequence, so the broken connection is not an outage.
_BAD_OBJECT: Final = re.compile(r"fatal: fsck (error|failed)")


def is_outage(command: str, code: int, output: str) -> bool:
    """Return whether a failed git command means that the remote is unreachable or refuses access.

    `command` is the git command, of which only `fetch` counts; `code` is its exit status and `output` its standard
    error. After an outage the wanted commits may still be good.
    """
    if command != "fetch" or code != FATAL:
        return False
    lines = output.splitlines()
    return any(map(_NO_WAY.match, lines)) and not any(map(_BAD_OBJECT.match, lines))
