"""Run pytest and report the outcome of each test as a signed line (standard library and pytest only).

Start it by `python run_pytest.py HANDLE ARGUMENTS…` in the tree. HANDLE is the number of the pipe to the parent.
"""

from __future__ import annotations  # the repository's Python may be 3.9

import sys
from pathlib import Path

import pytest
from function_watch import FunctionWatch  # type: ignore[import-not-found]  # found beside this file in the sandbox
from tamper_evidence import MachineryWatch, SignedReport, read_key

_ERRORS = 50
"""Most errors that are sent."""
_ERROR_ENDS = (2_000, 4_000)
"""Letters of an error that are sent: of its beginning, which names the test's own line, and of its end."""


class Reporter:
    """A plugin of pytest that sends the plugins that take part, and how each test ends."""

    def __init__(
        self, report: SignedReport, watch: MachineryWatch, functions: FunctionWatch
    ) -> None:
        # Bound before the code under test is imported: replacing them in their classes changes nothing here.
        self._send, self._record_again, self._find_change = (
            report.send,
            watch.record_again,
            watch.find_change,
        )
        self._record_test, self._find_rewrite = functions.record, functions.find_change
        self._replaced = functions.replaced
        self._tests: dict[str, tuple[object, object]] = {}
        self._phases: dict[str, list[str]] = {}
        self._look = watch.find_change_now_and_then
        self._errors = 0
        self.has_started = False

    def pytest_sessionstart(self, session) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send what the plugins and `conftest.py` files changed so far; the parent knows what they change on the base."""
        self.has_started = True
        self._send("start", *self.name_plugins(session.config), *self._record_again())

    def pytest_itemcollected(self, item) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Record the function of a test, and its fixtures, right after its module was imported."""
        if (function := getattr(item, "function", None)) is not None:
            owner = getattr(item, "cls", None)
            key = self._tests[item.nodeid] = (function, owner)
            self._record_test(key, function, owner, list_fixtures(item))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        """Look for a rewritten test before the call, because its new code may put back the old."""
        self.look_at_test(item.nodeid)
        key = self._tests.get(item.nodeid)
        if key is not None and getattr(item, "function", None) is not key[0]:
            self._replaced.add(f"function of {item.nodeid}")
        yield

    def look_at_test(self, test: str) -> None:
        """Send the name of a rewritten function of a test."""
        if (key := self._tests.get(test)) and (change := self._find_rewrite(key, test)):
            self._send("changed", change, "test")

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Keep the outcome of a phase: set-up, call or tear-down."""
        self._phases.setdefault(report.nodeid, []).append(f"{report.when} {report.outcome}")
        self.send_error(report)

    def pytest_collectreport(self, report) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send why a module cannot be collected."""
        self.send_error(report)

    def send_error(self, report) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send the error of a phase that failed, without the middle of a long one."""
        if report.failed and self._errors < _ERRORS:
            self._errors += 1
            self._send("error", report.nodeid, cut_middle(report.longreprtext))

    def pytest_runtest_logfinish(self, nodeid) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send the outcome of a test, and look for changes now and then."""
        self.look_at_test(nodeid)
        self._send("test", nodeid, *self._phases.pop(nodeid, []))
        if change := self._look():
            self._send("changed", change)

    def pytest_sessionfinish(self, session) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Look for changes once more, and send the plugins again: the code under test must not have added one."""
        if change := self._find_change():
            self._send("changed", change)
        self._send("plugins", *self.name_plugins(session.config))

    def name_plugins(self, config) -> list[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Return the names of all plugins, in order."""
        plugins = config.pluginmanager.get_plugins()
        return sorted(getattr(plugin, "__name__", type(plugin).__qualname__) for plugin in plugins)


def list_fixtures(item) -> list[object]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Return the functions of all fixtures that a test may use, in all versions of pytest that have them in this place."""
    by_name = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return [getattr(fixture, "func", None) for fixtures in by_name.values() for fixture in fixtures]


def cut_middle(text: str) -> str:
    """Return the two ends of a long text, on lines of their own."""
    first, last = _ERROR_ENDS
    return text if len(text) <= first + last else f"{text[:first]}\n...\n{text[-last:]}"


def main() -> int:
    """Run pytest in the current folder and return its exit status."""
    report = SignedReport(int(sys.argv[1]), read_key())
    watch = MachineryWatch()
    functions = FunctionWatch()
    send, replaced = report.send, functions.replaced  # bound before the code under test is imported
    # As `python -m pytest` does, but only now: a `pytest.py` of the tree must not be imported in its place.
    # The folder `src` comes first too, before a copy of the package that is installed in the environment.
    sys.path[:1] = [str(Path.cwd()), str(Path.cwd() / "src")]
    # Processes of pytest-xdist would run the tests where nobody watches.
    arguments = [*sys.argv[2:], "-p", "no:cacheprovider", "-p", "no:xdist"]
    reporter = Reporter(report, watch, functions)
    status = int(pytest.main(arguments, plugins=[reporter]))
    if reporter.has_started:  # otherwise the output says why not
        send("end", f"{status}", *sorted(replaced))
    return status


if __name__ == "__main__":
    sys.exit(main())
