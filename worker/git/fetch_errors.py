"""Decide whether a failed fetch means that the remote is unreachable, or that its objects are bad (pure).

Strangers can write text into git's messages, line breaks included. An outage stops the judging of all rivals. So only
lines that start as git's own sentences count, and none of them counts beside a bad object.
"""

import re
from typing import Final

FATAL: Final = 128
"""Git's exit status when git itself gave up."""

_UNREACHABLE: Final = re.compile(
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
# Git prints this when it aborts a fetch because of a bad object. The abort breaks the connection, so a line of
# `_UNREACHABLE` follows although the remote can be reached.
_BAD_OBJECT: Final = re.compile(r"fatal: fsck (error|failed)")


def is_outage(command: str, code: int, output: str) -> bool:
    """Return whether a failed git command means that the remote is unreachable or refuses access.

    `command` is git's subcommand: only `fetch` can meet an outage. `code` is its exit status, and `output` its standard
    error. After an outage the same fetch may succeed later.
    """
    if command != "fetch" or code != FATAL:
        return False
    lines = output.splitlines()
    return any(map(_UNREACHABLE.match, lines)) and not any(map(_BAD_OBJECT.match, lines))
