"""What makes it evident that the code under test tampered with a run (standard library only).

The tests share their process with a stranger's code. The lines of the report are signed with a key that changes with
every line. The functions of the test runner are recorded before that code is imported, and compared again and again.
None of this is a wall: code written against this very module can read the key or restore what it changed. The parent
therefore screens patches first, and calls passing tests a fact about a run and no proof.
"""

from __future__ import annotations  # the repository's Python may be 3.9

import os
import sys
import time
import types
from collections.abc import Iterator, Mapping
from hashlib import blake2b

_PAUSE = 0.2
"""Least seconds between two looks at all functions."""
_PAUSE_BY_LOOK = 100
"""Least pause in durations of the last look, so that looks take at most a hundredth of a run."""
_KEY_LINE = 65
"""Bytes of the key on standard input: 64 hex digits and a line break."""
_RUNNERS = frozenset(
    {
        *("__main__", "_pytest", "pytest", "pluggy", "unittest"),
        *("tamper_evidence", "function_watch"),
    }
)
_KINDS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    classmethod,
    staticmethod,
    property,
    type,
)
_BY_PYTEST = frozenset({"_UnitTestCase__pytest_class_setup", "_UnitTestCase__pytest_method_setup"})
"""Fixtures that pytest before 8 hangs on each class of unittest that a test module imports by name."""
_Holder = Mapping[str, object]
_Record = tuple[_Holder, str, object, tuple[object, ...]]


def read_key() -> bytes:
    """Read the secret key from standard input, without a buffer that would keep it, and close that."""
    raw = b""
    while len(raw) < _KEY_LINE and (more := os.read(0, _KEY_LINE - len(raw))):
        raw += more
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return bytes.fromhex(raw.decode().strip())


class SignedReport:
    """A pipe to the parent. A line holds a signature, a kind and fields, with tabs between them."""

    def __init__(self, handle: int, key: bytes) -> None:
        self._handle, self._key = handle, key
        # Kept here, because the code under test may replace them in their modules.
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
        # Kept, because the code under test may replace it.
        self._clock, self._next_look = time.monotonic, 0.0
        self._record()

    def record_again(self) -> list[str]:
        """Record everything anew, and return the names of what was replaced since the last record."""
        changed = sorted(set(self._list_changes()))
        self._record()
        return changed

    def find_change(self) -> str | None:
        """Return the name of something that was replaced since the last record, or None."""
        traced = (sys.gettrace(), sys.getprofile()) != self._traces
        return next(self._list_changes(), "a trace function" if traced else None)

    def find_change_now_and_then(self) -> str | None:
        """Return what `find_change` finds, or None without a look soon after the last one."""
        if (began := self._clock()) < self._next_look:
            return None
        change = self.find_change()
        ended = self._clock()
        self._next_look = ended + max(_PAUSE, _PAUSE_BY_LOOK * (ended - began))
        return change

    def _record(self) -> None:
        self._records = list(_list_records())
        self._names = [(holder, frozenset(holder)) for holder in _list_classes()]
        self._traces = sys.gettrace(), sys.getprofile()

    def _list_changes(self) -> Iterator[str]:
        for holder, name, value, parts in self._records:
            if holder.get(name) is not value or not is_same(take_apart(value), parts):
                yield f"{_name_holder(holder)}.{name}"
        for holder, names in self._names:
            for name in frozenset(holder) - names - _BY_PYTEST:
                if issubclass(type(holder[name]), _KINDS):  # pytest itself adds plain values
                    yield f"{_name_holder(holder)}.{name}"


def _list_records() -> Iterator[_Record]:
    """Yield each value as (the dictionary that holds it, its name there, the value, what it consists of)."""
    for module in _list_modules():
        for holder in (vars(module), *_list_own_classes(module)):
            for name, value in list(holder.items()):
                if issubclass(type(value), _KINDS) and name not in _BY_PYTEST:
                    yield holder, name, value, take_apart(value)


def _list_classes() -> Iterator[_Holder]:
    for module in _list_modules():
        yield from _list_own_classes(module)


def _list_modules() -> list[types.ModuleType]:
    modules = list(sys.modules.items())
    return [module for name, module in modules if name.partition(".")[0] in _RUNNERS]


def _list_own_classes(module: types.ModuleType) -> list[_Holder]:
    values = list(vars(module).values())
    return [
        vars(value)
        for value in values
        if isinstance(value, type) and value.__module__ == module.__name__
    ]


def take_apart(value: object) -> tuple[object, ...]:
    """Return the code and the default values of a function, of a method, or of a property's three functions."""
    if type(value) is types.FunctionType:  # most values are, and this is ten times faster
        return (value.__code__, value.__defaults__, value.__kwdefaults__)
    if issubclass(type(value), type):  # what is in a class has records of its own
        return ()
    functions = (
        getattr(value, "__func__", value),
        *(getattr(value, part, None) for part in ("fget", "fset", "fdel")),
    )
    parts = ("__code__", "__defaults__", "__kwdefaults__")
    return tuple(getattr(function, part, None) for function in functions for part in parts)


def is_same(new: tuple[object, ...], old: tuple[object, ...]) -> bool:
    """Return whether both hold the very same objects. Equal ones are not enough: `==` would run code of the objects."""
    if len(new) != len(old):
        return False
    for now, then in zip(new, old):  # noqa: B905, SIM110 (Python 3.9, and `all` is slower)
        if now is not then:
            return False
    return True


def _name_holder(holder: _Holder) -> str:
    return str(holder.get("__name__") or holder.get("__module__"))
