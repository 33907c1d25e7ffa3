"""Logs are one line a record and hold no secret."""

import json
import logging
import os
import sys
import warnings
from datetime import datetime, timedelta

import pytest

from app.github.redaction import remember
from app.logs import add_ids, bind_ids, configure, hide_passwords
from app.settings import LogSettings

TOKEN = "ghs_12345_" + "eyJhbGciOiJSUzI1NiJ9." * 20


@pytest.fixture(autouse=True)
def root_logger(monkeypatch):
    root = logging.getLogger()
    before = root.handlers[:], root.level
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with bind_ids():  # a test before this one may have added ids
        yield
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = before


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_written_in_message_or_trace(form, capsys):
    remember("a-webhook-secret-of-ours")
    configure(LogSettings(log_format=form))
    error = ValueError(f"refused {TOKEN}")
    said = "sent %s with a-webhook-secret-of-ours"
    logging.getLogger("app").error(said, TOKEN, exc_info=error)
    written = capsys.readouterr().err
    assert "eyJhbGciOiJ" not in written
    assert "a-webhook-secret-of-ours" not in written


def test_json_is_one_object_a_line(capsys):
    configure(LogSettings(log_format="json", log_level="INFO"))
    logging.getLogger("worker").info("two\nlines")
    logging.getLogger("worker").debug("too quiet")
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    at = datetime.fromisoformat(record.pop("at"))
    assert at.utcoffset() == timedelta(0)
    told = {"level": "INFO", "logger": "worker", "process": os.getpid(), "message": "two\nlines"}
    assert record == told


def test_json_keeps_what_a_caller_adds_and_the_trace(capsys):
    configure(LogSettings(log_format="json"))
    error = ValueError("a mistake")
    logging.getLogger("worker").error("failed", exc_info=error, extra={"job": 7})
    record = json.loads(capsys.readouterr().err)
    assert (record["job"], record["trace"]) == (7, "ValueError: a mistake")


def test_a_key_without_an_end_leaves_the_line_json(capsys):
    configure(LogSettings(log_format="json"))
    logging.getLogger("app").error("read %s", "-----BEGIN PRIVATE KEY-----\nMIIE")
    assert json.loads(capsys.readouterr().err)["message"] == "read [secret]"


@pytest.mark.filterwarnings("default")
def test_warnings_and_the_error_that_ends_a_process_are_records(capsys):
    configure(LogSettings(log_format="json"))
    warnings.warn("you run as root", UserWarning, stacklevel=1)
    error = ValueError("a mistake")
    sys.excepthook(ValueError, error, error.__traceback__)
    warned, ended = map(json.loads, capsys.readouterr().err.splitlines())
    assert (warned["logger"], "you run as root" in warned["message"]) == ("py.warnings", True)
    assert (ended["level"], ended["trace"]) == ("CRITICAL", "ValueError: a mistake")


def test_the_passwords_of_our_stores_are_masked(capsys):
    hide_passwords("postgresql://r4p:a-long-password@postgres/r4p", "redis+socket:///run/valkey")
    configure(LogSettings())
    logging.getLogger("app").error("no route to postgresql://r4p:a-long-password@postgres/r4p")
    assert "a-long-password" not in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json"])
def test_each_line_of_a_job_names_its_ids(form, capsys):
    configure(LogSettings(log_format=form))
    with bind_ids(job=7, delivery="a-guid", evaluation=None):
        logging.getLogger("worker").error("failed", exc_info=ValueError("a mistake"))
    logging.getLogger("worker").error("idle")
    first, *_, last = capsys.readouterr().err.splitlines()
    if form == "json":
        record = json.loads(first)
        assert (record["job"], record["delivery"], "evaluation" in record) == (7, "a-guid", False)
    else:
        assert first.endswith("worker: failed [job=7 delivery=a-guid]")
    assert "a-guid" not in last


def test_ids_that_are_known_later_are_added_until_the_job_ends(capsys):
    configure(LogSettings(log_format="json"))
    with bind_ids(job=7):
        add_ids(evaluation=9, delivery=None)
        logging.getLogger("worker").error("collected")
    logging.getLogger("worker").error("idle")
    collected, idle = map(json.loads, capsys.readouterr().err.splitlines())
    assert (collected["job"], collected["evaluation"], "delivery" in collected) == (7, 9, False)
    assert {"job", "evaluation"}.isdisjoint(idle)
