"""Notice code under test that changes pytest or unittest while they run (standard library only).

A patch can make every test pass by replacing a function of the test runner. So all functions of the runner are recorded
before any code of the tree is imported, and compared after each test. Code that restores them in time, or lies through
the values that a test compares, goes unnoticed: a test cannot protect itself from what it tests.
"""

import sys
import types
from collections.abc import Iterator, Mapping

_RUNNERS = frozenset({"_pytest", "pytest", "pluggy", "unittest", "signed_report"})
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
