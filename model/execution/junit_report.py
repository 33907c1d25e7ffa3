"""Read the JUnit XML that a test command wrote, and decide which outcomes it tells (pure).

The code under test can write this file itself. So its outcomes are weaker evidence than those of our own reporters, and
a run says so in `is_self_reported`. What the file leaves open is unknown.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from model.execution.result_stream import ForgedReport, check_signatures
from model.execution.suite_run import Outcome, SuiteRun, build_failed_run

_MOST_BYTES: Final = 8 * 1024**2
_MOST_TESTS: Final = 100_000
_MOST_TAGS: Final = 500_000
"""A limit of memory: an empty element takes 4 bytes of the file, and 200 of ours."""
_ID_LETTERS: Final = 1_000
_FAILURES: Final = {"failure", "error"}
_DOUBTS: Final = {"flakyFailure", "flakyError", "rerunFailure", "rerunError"}
"""Marks of a test that failed in one attempt and passed in another."""
_NOT_RUN: Final = {"notrun", "disabled", "skipped", "ignored"}
"""Values of the attribute `status` of a test that did not run."""


class BadReport(Exception):
    """A report tells nothing. The message says why, for a person."""


def read_junit_run(lines: Iterable[bytes], key: bytes, seconds: float) -> SuiteRun:
    """Read the signed lines of one run of `run_junit.py`. `key` is the secret that its process got."""
    try:
        outcomes = parse_junit(_join(check_signatures(lines, key)))
    except (ForgedReport, BadReport, binascii.Error) as error:
        return build_failed_run(str(error), seconds)
    return SuiteRun(outcomes, seconds=seconds, is_self_reported=True)


def _join(events: Sequence[tuple[str, ...]]) -> bytes:
    """Return the file that the events hold in parts."""
    if not events or events[-1][0] != "end":
        raise BadReport("the tests ended without a report")
    return b"".join(
        base64.b64decode(event[1], validate=True) for event in events if event[0] == "xml"
    )


def parse_junit(text: bytes) -> dict[str, Outcome]:
    """Return the outcome of each test that a JUnit XML tells once. Raises BadReport.

    The id of a test is `classname::name`, or its name alone. A test that stands there twice has no outcome.
    """
    if not text:
        raise BadReport("the test command wrote no report")
    if len(text) > _MOST_BYTES:
        raise BadReport(f"the report of the tests is larger than {_MOST_BYTES:,} bytes")
    if (tags := text.count(b"<")) > _MOST_TAGS:
        raise BadReport(f"the report of the tests holds {tags:,} tags; the most are {_MOST_TAGS:,}")
    try:
        root = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError) as error:
        raise BadReport(f"the report of the tests is no JUnit XML: {str(error)[:200]}") from error
    if root.tag not in {"testsuites", "testsuite"}:
        raise BadReport(
            f"the report of the tests is no JUnit XML: it begins with <{root.tag[:50]}>"
        )
    cases = list(root.iter("testcase"))
    if not 0 < len(cases) <= _MOST_TESTS:
        raise BadReport(f"the report holds {len(cases):,} tests; 1 to {_MOST_TESTS:,} can be read")
    outcomes: dict[str, Outcome | None] = {}
    for case in cases:
        identifier = _identify(case)
        outcomes[identifier] = None if identifier in outcomes else _decide(case)
    return {test: outcome for test, outcome in outcomes.items() if outcome is not None}


def _identify(case: Element) -> str:
    name, group = case.get("name"), case.get("classname")
    if not name:
        raise BadReport("the report holds a test without a name")
    identifier = f"{group}::{name}" if group else name
    if len(identifier) > _ID_LETTERS:
        raise BadReport(f"the report holds a test with a name of over {_ID_LETTERS:,} letters")
    return identifier


def _decide(case: Element) -> Outcome | None:
    """Return the outcome of a test; None when it both failed and passed."""
    marks, status = {child.tag for child in case}, case.get("status", "").lower()
    if marks & _FAILURES or status in {"fail", "failed"}:
        return Outcome.FAILED
    if marks & _DOUBTS:
        return None
    return Outcome.SKIPPED if "skipped" in marks or status in _NOT_RUN else Outcome.PASSED
