"""Logs are one line a record and hold no secret."""

import json
import logging

import pytest

from app.github.redaction import remember
from app.logs import configure, hide_passwords
from app.settings import LogSettings

TOKEN = "ghs_12345_" + "eyJhbGciOiJSUzI1NiJ9." * 20


@pytest.fixture(autouse=True)
def restored():
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
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
    assert json.loads(line)["message"] == "two\nlines"


def test_the_passwords_of_our_stores_are_masked(capsys):
    hide_passwords("postgresql://r4p:a-long-password@postgres/r4p", "redis+socket:///run/valkey")
    configure(LogSettings())
    logging.getLogger("app").error("no route to postgresql://r4p:a-long-password@postgres/r4p")
    assert "a-long-password" not in capsys.readouterr().err
