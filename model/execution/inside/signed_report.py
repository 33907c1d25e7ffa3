"""Signed lines about a test run, for a parent that does not trust the code under test (standard library only).

The tests share this process with a stranger's code. So the functions used here are kept before that code is imported,
they are written in C, and the key changes with every line: code that finds it later cannot sign an earlier line again.
`machinery_watch` says what else protects the report, and what does not.
"""

import os
import sys
from hashlib import blake2b


def read_key() -> bytes:
    """Read the secret key, one line of hex digits, from standard input, and close that."""
    key = bytes.fromhex(sys.stdin.readline().strip())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return key


class SignedReport:
    """A pipe to the parent. A line holds a signature, a kind and fields, with tabs between them."""

    def __init__(self, handle: int, key: bytes) -> None:
        self._handle, self._key = handle, key
        self._sign, self._write, self._get_process = blake2b, os.write, os.getpid
        self._process = os.getpid()

    def send(self, kind: str, *fields: str) -> None:
        """Sign and send one event. A forked child of a test sends nothing."""
        if self._get_process() != self._process:
            return
        line = b"\t".join([field.encode("unicode_escape") for field in (kind, *fields)])
        signature = self._sign(line, key=self._key, digest_size=32).hexdigest().encode()
        self._key = self._sign(self._key, digest_size=32).digest()
        raw = signature + b"\t" + line + b"\n"
        while raw:
            raw = raw[self._write(self._handle, raw) :]
