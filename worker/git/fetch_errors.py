"""What git says when a fetch fails: is the way to the remote broken, or is it what lies there? (pure)

What a stranger wrote can stand in a complaint, line breaks included, and a broken way stops all
rivals: so only git's own sentences count, from their first word, and never beside a bad object.
"""

import re
from typing import Final

FATAL: Final = 128
"""Git's exit status when it gave up by itself."""

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
_BAD_OBJECT: Final = re.compile(r"fatal: fsck (error|failed)")


def is_outage(command: str, code: int, said: str) -> bool:
    """Whether the remote can't be reached or doesn't let us in, so that nothing is said of any commit."""
    if command != "fetch" or code != FATAL:
        return False
    lines = said.splitlines()
    return any(map(_NO_WAY.match, lines)) and not any(map(_BAD_OBJECT.match, lines))
