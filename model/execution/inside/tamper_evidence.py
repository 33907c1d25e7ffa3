"""What makes it evident that the code under test tampered with a run (standard library only).

The tests share this process with a stranger's code. The lines of the report are signed: the functions for that are
written in C and kept before the code is imported, and the key changes with every line, so that code which finds it
later cannot sign an earlier line again. The functions of the test runner are recorded before the code is imported, and
compared again and again until the end. Code that restores them in time, or lies through the values that a test compares, goes
unnoticed: a test cannot protect itself from what it tests.
"""

import os
import sys
import types
from collections.abc import Iterator, Mapping
from hashlib import blake2b

_RUNNERS = frozenset({"_pytest", "pytest", "pluggy", "unittest", "tamper_evidence"})
_KINDS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    classmethod,
    staticmethod,
    property,
    type,
)
_Holder = Mapping[str, object]
_Record = tuple[_Holder, str, object, "types.CodeType | None"]


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


class MachineryWatch:
    """A record of the functions, methods and classes of all loaded test runners."""

    def __init__(self) -> None:
        self._records = list(_record_all())

    def record_again(self) -> list[str]:
        """Record everything anew, and return the names of what was replaced since the last record."""
        changed = sorted(set(self._list_changes()))
        self._records = list(_record_all())
        return changed

    def find_change(self) -> str | None:
        """Return the name of something that was replaced since the last record, or None."""
        traced = "a trace function" if sys.gettrace() or sys.getprofile() else None
        return next(self._list_changes(), traced)

    def _list_changes(self) -> Iterator[str]:
        for holder, name, value, code in self._records:
            if holder.get(name) is not value or _get_code(value) is not code:
                yield f"{holder.get('__module__', holder.get('__name__'))}.{name}"


def _record_all() -> Iterator[_Record]:
    """Yield each value as (the dictionary that holds it, its name there, the value, its code)."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in _RUNNERS:
            for holder in _list_holders(module):
                for name, value in list(holder.items()):
                    if isinstance(value, _KINDS):
                        yield holder, name, value, _get_code(value)


def _list_holders(module: types.ModuleType) -> Iterator[_Holder]:
    yield vars(module)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield vars(value)


def _get_code(value: object) -> "types.CodeType | None":
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    return getattr(function, "__code__", None)
