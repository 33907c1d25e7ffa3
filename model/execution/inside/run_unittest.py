"""Run unittest, or a script that runs it such as Django's, and report each test's outcome as a signed line.

Start it by `python run_unittest.py HANDLE PROGRAM ARGUMENTS…` in the tree (standard library only). HANDLE is the number
of the pipe to the parent. PROGRAM is `unittest`, or the path of a script.
"""

from __future__ import annotations  # the repository's Python may be 3.9

import runpy
import sys
import traceback
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from function_watch import FunctionWatch  # type: ignore[import-not-found]  # found beside this file in the sandbox
from tamper_evidence import MachineryWatch, SignedReport, read_key

_PASSED = ("setup passed", "call passed", "teardown passed")
_PHASES = {
    "addSuccess": _PASSED,
    "addFailure": ("call failed",),
    "addError": ("call failed",),
    "addUnexpectedSuccess": ("call failed",),
    "addSkip": ("call skipped",),
    "addExpectedFailure": ("call skipped",),
}
"""What each method of a `TestResult` says about its test, in the words of pytest."""


class ResultReporter:
    """Replaces the methods of `unittest.TestResult`, which every result class calls, by ones that also report."""

    def __init__(self, report: SignedReport) -> None:
        self._report = report
        self._phases: dict[str, list[str]] = {}
        for name, phases in _PHASES.items():
            self._extend(name, lambda test, *_, phases=phases: self._note(test, phases))
        self._extend("addSubTest", self._note_part)
        self._extend("startTest", self._look_at_test)
        self._extend("stopTest", self._send)
        self.functions = FunctionWatch()
        self._extend_case()
        self.watch = MachineryWatch()
        self._look = self.watch.find_change_now_and_then

    def _extend(self, name: str, report: Callable[..., None]) -> None:
        original = getattr(unittest.TestResult, name)

        def method(result: Any, test: Any, *rest: Any) -> Any:
            report(test, *rest)
            return original(result, test, *rest)

        setattr(unittest.TestResult, name, method)

    def _extend_case(self) -> None:
        """Let each test record its function when it is made, right after its module was imported."""
        original, functions = unittest.TestCase.__init__, self.functions

        def create(case: Any, *arguments: Any, **options: Any) -> None:
            original(case, *arguments, **options)
            name, owner = case._testMethodName, type(case)  # noqa: SLF001
            functions.record((owner, name), getattr(owner, name, None), owner)

        setattr(unittest.TestCase, "__init__", create)  # noqa: B010 - mypy refuses the assignment

    def _look_at_test(self, test: Any) -> None:
        """Send the name of a rewritten function of a test; its new code may put back the old during the call."""
        key = (type(test), getattr(test, "_testMethodName", None))
        if change := self.functions.find_change(key, test.id()):
            self._report.send("changed", change, "test")

    def _note(self, test: Any, phases: tuple[str, ...]) -> None:
        self._phases.setdefault(test.id(), []).extend(phases)

    def _note_part(self, test: Any, _part: Any, error: Any) -> None:
        if error is not None:
            self._note(test, ("call failed",))

    def _send(self, test: Any) -> None:
        self._look_at_test(test)
        self._report.send("test", test.id(), *self._phases.pop(test.id(), ()))
        if change := self._look():
            self._report.send("changed", change)

    def send_rest(self) -> None:
        """Send the errors that belong to no test, such as those of `tearDownClass`, which the parent ignores."""
        for name, phases in self._phases.items():
            self._report.send("test", name, *phases)


def main() -> int:
    """Run the program in the current folder and return its exit status."""
    report = SignedReport(int(sys.argv[1]), read_key())
    reporter = ResultReporter(report)
    # Bound before the code under test is imported: it cannot replace what the last lines call.
    send, find_change, send_rest = report.send, reporter.watch.find_change, reporter.send_rest
    replaced = reporter.functions.replaced
    send("start")
    program, sys.argv = sys.argv[2], sys.argv[2:]
    try:
        _run(program)
        status = 0
    except SystemExit as end:
        status = int(end.code) if isinstance(end.code, int) else int(bool(end.code))
    except (OSError, MemoryError):
        raise  # the machine's fault, perhaps: the run says nothing
    except Exception:  # noqa: BLE001 - a package that cannot be imported breaks its tests
        traceback.print_exc()
        status = 1
    send_rest()
    if change := find_change():
        send("changed", change)
    send("plugins")
    send("end", f"{status}", *sorted(replaced))
    return status


def _run(program: str) -> None:
    """Run a script as `python SCRIPT` does, or unittest as `python -m unittest` does."""
    # The tree comes first, before a copy of the package that is installed in the environment.
    tree = [str(Path.cwd()), str(Path.cwd() / "src")]
    if program == "unittest":
        sys.path[:1] = tree
        unittest.main(module=None)
    else:
        sys.path[:1] = [str(Path(program).resolve().parent), *tree]
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    sys.exit(main())
