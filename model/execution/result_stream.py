"""Read the signed lines of a test run and decide which outcomes are to be believed (pure).

The lines come from a process that also ran a stranger's code. So a wrong signature, a changed function of the test
runner, a missing end or an unexpected plugin makes the whole run unknown, and never a pass.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from model.execution.suite_run import REPLACED, Outcome, SuiteRun, build_failed_run

_PASSED: Final = frozenset({"setup passed", "call passed", "teardown passed"})
_SKIPPED: Final = frozenset({"setup skipped", "call skipped"})
_RAN: Final = ("0", "1")
"""Exit statuses after a run: all tests passed, or some did not."""
_NO_TESTS: Final = "5"
_FIELDS: Final = {
    "start": 0,
    "test": 1,
    "error": 2,
    "changed": 1,
    "plugins": 0,
    "end": 1,
    "xml": 1,
}
"""The fewest fields of each kind of event."""
ENDED_EARLY: Final = "before it ran all tests"
"""Ends the reason of a run whose runner gave up, for example because of a wrong argument."""
_Event = tuple[str, ...]
"""(kind, field, …), for example ("test", "test_a.py::test_b", "call passed")."""


class ForgedReport(Exception):
    """A line of a report is not what the reporter in the sandbox signed. The message says which."""


def read_run(lines: Iterable[bytes], key: bytes, seconds: float) -> SuiteRun:
    """Read the signed lines of one run. `key` is the secret that its process got; `seconds` is its duration."""
    try:
        events = check_signatures(lines, key)
    except ForgedReport as error:
        return build_failed_run(str(error), seconds)
    if reason := _explain_disbelief(events):
        return build_failed_run(reason, seconds)
    phases: dict[str, set[str]] = {}
    for kind, *fields in events:
        if kind == "test":  # a test that failed once stays failed, whatever a later line says
            phases.setdefault(fields[0], set()).update(fields[1:])
    outcomes = {test: _decide(fields) for test, fields in phases.items()}
    replaced = [f"{REPLACED}{name}" for name in events[-1][2:]]
    set_up = (*events[0][1:], "then", *events[-2][1:], *replaced)
    errors = {fields[0]: fields[1] for kind, *fields in events if kind == "error"}
    return SuiteRun(_drop_unknown(outcomes), errors=errors, set_up=set_up, seconds=seconds)


def _explain_disbelief(events: Sequence[_Event]) -> str | None:
    """Return why a whole run says nothing; None when its outcomes may be believed."""
    if changed := next((fields for kind, *fields in events if kind == "changed"), None):
        what = "rewrites a test" if changed[1:] else "changes the test runner"
        return f"the code under test {what} while it runs: {changed[0]}"
    if [event[0] for event in (*events[:1], *events[-2:])] != ["start", "plugins", "end"]:
        last = next((fields[0] for kind, *fields in reversed(events) if kind == "test"), None)
        return f"the tests ended without a report{f' after {last}' if last else ''}"
    status = events[-1][1]
    if status == _NO_TESTS:
        return "the test command found no test"
    if status not in _RAN:
        return f"the test command ended with exit {status} {ENDED_EARLY}"
    return None


def check_signatures(lines: Iterable[bytes], key: bytes) -> list[_Event]:
    """Return the events of all lines. Raises ForgedReport at the first line with a wrong signature."""
    events = []
    for number, raw in enumerate(lines, 1):
        signature, _, line = raw.removesuffix(b"\n").partition(b"\t")
        expected = blake2b(line, key=key, digest_size=32).hexdigest().encode()
        if not hmac.compare_digest(expected, signature):
            raise ForgedReport(f"line {number} of the report was not written by the reporter")
        events.append(_parse_event(line, number))
        key = blake2b(key, digest_size=32).digest()
    return events


def _parse_event(line: bytes, number: int) -> _Event:
    """Return the event of a line. Raises ForgedReport for one that the reporter never writes."""
    try:
        kind, *fields = (field.decode("unicode_escape") for field in line.split(b"\t"))
    except UnicodeDecodeError as error:
        raise ForgedReport(f"line {number} of the report cannot be read") from error
    if kind not in _FIELDS or len(fields) < _FIELDS[kind]:
        raise ForgedReport(f"line {number} of the report is not of a known kind")
    return (kind, *fields)


def _decide(phases: Iterable[str]) -> Outcome | None:
    """Return the outcome of a test from its phases, such as `call failed`; None when they tell none."""
    seen = frozenset(phases)
    if any(phase.endswith(" failed") for phase in seen):
        return Outcome.FAILED
    if seen & _SKIPPED:
        return Outcome.SKIPPED
    return Outcome.PASSED if seen >= _PASSED else None


def _drop_unknown(outcomes: Mapping[str, Outcome | None]) -> dict[str, Outcome]:
    return {test: outcome for test, outcome in outcomes.items() if outcome is not None}
