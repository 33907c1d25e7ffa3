"""What makes it evident that the code under test rewrites the tests themselves (standard library only).

A test's functions are recorded when it is collected, and compared before its call and after it. No honest code changes
these. The values of the names in its code may change honestly, so the parent compares those with the base.
"""

from __future__ import annotations  # the repository's Python may be 3.9

import builtins
import sys
import threading
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tamper_evidence import is_same, take_apart

_FUNCTIONS = (types.FunctionType, classmethod, staticmethod, property)
_TRACES = frozenset(["sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"])
"""Audit events of what can change the variables of a running test."""
_LOOKS = frozenset(["sys._getframe", "gc.get_objects", "gc.get_referrers"])
"""Audit events of what finds a running test. The standard library and installed packages do this too."""
_OUTSIDE = (str(Path(types.__file__).parent), sys.prefix, sys.base_prefix, "<frozen")
"""Starts of the names of files that are not the tree's."""
_WRAPPERS = 10
"""Most decorators of one function that are looked through."""
_EMPTY = object()
"""The content of a closure's cell that holds nothing yet."""


class _UsedValue(NamedTuple):
    """What a name in a test's code stands for."""

    name: str
    read: Callable[[], object]
    value: object
    parts: tuple[object, ...]


class _TestRecord(NamedTuple):
    """A test's functions with their parts, and the values that they use."""

    functions: list[tuple[types.FunctionType, tuple[object, ...]]]
    used: list[_UsedValue]


class FunctionWatch:
    """A record of the functions of each collected test, and of the values that they use."""

    def __init__(self) -> None:
        self._records: dict[Hashable, _TestRecord] = {}
        self.replaced: set[str] = set()
        """What was replaced in the tests so far, for the parent to compare with the base."""
        # Kept, because the code under test may replace them.
        self._get_frame, self._get_thread = sys._getframe, threading.get_ident  # noqa: SLF001
        self._noting: set[int] = set()
        sys.addaudithook(_keep_watched(self._note_event))

    def record(
        self, key: Hashable, function: object, owner: type | None, more: Iterable[object] = ()
    ) -> None:
        """Record a test by a key: its function, its class if it has one, and further functions such as fixtures."""
        if key not in self._records:
            own = list(_list_wrapped(function))
            rest = [inner for outer in more for inner in _list_wrapped(outer)]
            functions = [(each, _take_function_apart(each)) for each in (*own, *rest)]
            used = [value for each in own for value in _list_used(each, owner)]
            self._records[key] = _TestRecord(functions, used)

    def find_change(self, key: Hashable, test: str) -> str | None:
        """Return the name of a rewritten function of a test, or None. Note what else was replaced."""
        record = self._records.get(key)
        if record is None:
            return None
        for name, read, value, parts in record.used:
            now = read()
            if now is not value or (parts and not is_same(_take_value_apart(now), parts)):
                self.replaced.add(f"{name} of {test}")
        for function, parts in record.functions:
            if not is_same(_take_function_apart(function), parts):
                return f"{function.__name__} of {test}"
        return None

    def _note_event(self, event: str) -> None:
        """Note a trace function, and a look of the tree at frames or at all objects. An audit hook cannot be removed.

        Tools such as coverage set their trace functions from an installed package.
        """
        if event in _TRACES or (event in _LOOKS and event not in self.replaced):
            thread = self._get_thread()
            if thread in self._noting:
                return  # the look at the frame below is an event too
            self._noting.add(thread)
            path = self._get_frame(2).f_code.co_filename  # below this method and the hook
            self._noting.discard(thread)
            if not (path.startswith(_OUTSIDE) if event in _LOOKS else "-packages" in path):
                self.replaced.add(event)


def _keep_watched(note: Callable[[str], None]) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that passes on the watched events. Python calls it for each read of a function's code, so it is short."""
    watched = _TRACES | _LOOKS

    def note_watched(event: str, _arguments: tuple[Any, ...]) -> None:
        if event in watched:
            note(event)

    return note_watched


def _list_wrapped(function: object) -> Iterator[types.FunctionType]:
    """Yield a function and those that it decorates."""
    for _ in range(_WRAPPERS):
        function = getattr(function, "__func__", function)
        if type(function) is not types.FunctionType:
            return
        yield function
        function = vars(function).get("__wrapped__")


def _take_function_apart(function: types.FunctionType) -> tuple[object, ...]:
    keywords = function.__kwdefaults__ or {}
    return (function.__code__, function.__defaults__, *keywords, *keywords.values())


def _take_value_apart(value: object) -> tuple[object, ...]:
    # Asking for the type runs no code of the value, as `isinstance` would.
    return take_apart(value) if issubclass(type(value), _FUNCTIONS) else ()


def _list_used(function: types.FunctionType, owner: type | None) -> Iterator[_UsedValue]:
    """Yield the values of a closure, and what each name in the code stands for: in the module, in builtins, in the classes of
    the test, and in each module that such a name stands for.
    """
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):  # noqa: B905
        yield _build_used(name, lambda cell=cell: _read_cell(cell))  # type: ignore[misc]
    names = {function.__name__, *_list_names(function.__code__)}
    holders: list[Mapping[str, object]] = [function.__globals__, vars(builtins)]
    holders += [vars(each) for each in (owner.__mro__ if owner else ())]
    seen = set(map(id, holders))
    for holder in holders:  # grows below
        for name in names & holder.keys():
            used = _build_used(name, lambda holder=holder, name=name: holder.get(name))  # type: ignore[misc]
            yield used
            if type(used.value) is types.ModuleType and id(vars(used.value)) not in seen:
                seen.add(id(vars(used.value)))
                holders.append(vars(used.value))


def _build_used(name: str, read: Callable[[], object]) -> _UsedValue:
    value = read()
    return _UsedValue(name, read, value, _take_value_apart(value))


def _read_cell(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _list_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code object and in those inside it."""
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _list_names(value)
