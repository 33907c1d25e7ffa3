"""Run pytest and report the outcome of each test as a signed line (standard library and pytest only).

Start it by `python run_pytest.py HANDLE ARGUMENTS…` in the tree. HANDLE is the number of the pipe to the parent.
"""

import sys
import time
from pathlib import Path

import pytest
from tamper_evidence import MachineryWatch, SignedReport, read_key

_SECONDS_BETWEEN_LOOKS = 0.2


class Reporter:
    """A plugin of pytest that sends what is collected, how each test ends, and how the run ends."""

    def __init__(self, report: SignedReport, watch: MachineryWatch) -> None:
        self._report, self._watch = report, watch
        self._phases: dict[str, list[str]] = {}
        self._clock, self._look_at = time.monotonic, 0.0

    def pytest_sessionstart(self, session) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send what the plugins and `conftest.py` files changed so far; the parent knows what they change on the base."""
        plugins = {
            type(plugin).__qualname__ for plugin in session.config.pluginmanager.get_plugins()
        }
        self._report.send("start", *sorted(plugins), *self._watch.record_again())

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Keep the outcome of a phase: set-up, call or tear-down."""
        self._phases.setdefault(report.nodeid, []).append(f"{report.when} {report.outcome}")

    def pytest_runtest_logfinish(self, nodeid) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send the outcome of a test, and look for changes now and then: a look takes a millisecond."""
        self._report.send("test", nodeid, *self._phases.pop(nodeid, []))
        if (now := self._clock()) > self._look_at:
            self._look_at = now + _SECONDS_BETWEEN_LOOKS
            self._send_change()

    def pytest_sessionfinish(self, session, exitstatus) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Send the exit status, and the number of plugins that took part."""
        self._send_change()
        plugins = len(session.config.pluginmanager.get_plugins())
        self._report.send("end", f"{int(exitstatus)}", f"{plugins} plugins at the end")

    def _send_change(self) -> None:
        if change := self._watch.find_change():
            self._report.send("changed", change)


def main() -> int:
    """Run pytest in the current folder and return its exit status."""
    report = SignedReport(int(sys.argv[1]), read_key())
    watch = MachineryWatch()
    # As `python -m pytest` does, but only now: a `pytest.py` of the tree must not be imported in its place.
    sys.path[0] = str(Path.cwd())
    arguments = [*sys.argv[2:], "-p", "no:cacheprovider"]
    return int(pytest.main(arguments, plugins=[Reporter(report, watch)]))


if __name__ == "__main__":
    sys.exit(main())
