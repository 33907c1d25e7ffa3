"""A report is believed only as a whole, and only as it was signed."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.execution.inside.tamper_evidence import SignedReport
from model.execution.result_stream import read_run
from model.execution.suite_run import Outcome

KEY = bytes(range(32))
START, PLUGINS, END = ("start", "Session"), ("plugins", "Session"), ("end", "1")
PHASES = ("setup passed", "call passed", "teardown passed")


def write_lines(*events, key=KEY):
    ours, theirs = os.pipe()
    report = SignedReport(theirs, key)
    for event in events:
        report.send(*event)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        return pipe.read().removesuffix(b"\n").split(b"\n")


def test_outcomes_come_from_all_three_phases():
    run = read_run(
        write_lines(
            START,
            ("test", "ok", *PHASES),
            ("test", "bad", "setup passed", "call failed", "teardown passed"),
            ("test", "late", "setup passed", "call passed", "teardown failed"),
            ("test", "not", "setup skipped", "teardown passed"),
            ("test", "half", "setup passed"),
            PLUGINS,
            END,
        ),
        KEY,
        1.5,
    )
    assert run.outcomes == {
        "ok": Outcome.PASSED,
        "bad": Outcome.FAILED,
        "late": Outcome.FAILED,
        "not": Outcome.SKIPPED,
    }
    assert (run.failure, run.seconds) == (None, 1.5)
    assert run.set_up == ("Session", "then", "Session")


@given(st.text(min_size=1))
def test_any_test_id_survives_the_way(name):
    assert read_run(
        write_lines(START, ("test", name, *PHASES), PLUGINS, END), KEY, 0
    ).list_passed() == {name}


@given(st.data())
def test_no_byte_of_a_report_can_be_changed(data):
    lines = write_lines(START, ("test", "a", "call failed"), PLUGINS, END)
    number = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[number]) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != lines[number][place]))
    lines[number] = lines[number][:place] + bytes([other]) + lines[number][place + 1 :]
    assert read_run(lines, KEY, 0).failure


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:-1], "ended without a report after a"),
        (lambda lines: lines[1:], "not written by the reporter"),
        (lambda lines: [*lines, lines[-1]], "not written by the reporter"),
        (lambda lines: [lines[0], lines[2], lines[1], lines[3]], "not written by the reporter"),
        (lambda lines: [*lines[:2], b"end\t0", *lines[2:]], "not written by the reporter"),
        (
            lambda _lines: write_lines(START, PLUGINS, END, key=bytes(32)),
            "not written by the reporter",
        ),
    ],
)
def test_a_report_with_another_order_key_or_end_says_nothing(change, reason):
    lines = change(write_lines(START, ("test", "a", *PHASES), PLUGINS, END))
    run = read_run(lines, KEY, 0)
    assert run.outcomes == {}
    assert reason in run.failure


def test_a_changed_runner_or_a_failed_status_says_nothing():
    changed = write_lines(START, ("test", "a", *PHASES), ("changed", "pytest.main"), PLUGINS, END)
    assert "pytest.main" in read_run(changed, KEY, 0).failure
    for status in ("2", "3", "4", "5", "127"):
        run = read_run(write_lines(START, ("test", "a", *PHASES), PLUGINS, ("end", status)), KEY, 0)
        assert (run.outcomes, bool(run.failure)) == ({}, True)


def test_a_test_that_failed_once_stays_failed():
    lines = write_lines(
        START, ("test", "a", "setup passed", "call failed"), ("test", "a", *PHASES), PLUGINS, END
    )
    assert read_run(lines, KEY, 0).outcomes == {"a": Outcome.FAILED}


@pytest.mark.parametrize("event", [("test",), ("changed",), ("other", "x"), ("end",)])
def test_a_signed_line_of_no_known_kind_says_nothing(event):
    assert "of a known kind" in read_run(write_lines(START, event, PLUGINS, END), KEY, 0).failure


def test_another_plugin_at_the_end_shows_in_the_set_up():
    lines = write_lines(START, ("test", "a", *PHASES), ("plugins", "Cheat", "Session"), END)
    assert read_run(lines, KEY, 0).set_up == ("Session", "then", "Cheat", "Session")
