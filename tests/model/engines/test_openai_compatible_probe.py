"""What a server says of itself when it is probed, what is said of one that does not, and what the log names."""

import logging
from contextlib import closing
from contextvars import ContextVar

import pytest

from model.engines.connection import DEFAULT_CONTEXT_TOKENS, probe
from model.engines.openai_compatible import connect
from model.errors import BadEngine, EngineDown
from model.protocols import Message, Request
from tests.model.chat_server import DEAD_URL, MODELS, Reply, build_completion, serve_chat


def test_probe_takes_the_only_model_and_its_context():
    with serve_chat(models=[MODELS]) as server:
        served = probe(server.url, None)
        with closing(connect(server.url + "/", "r4p")) as engine:
            assert (engine.name, engine.model, engine.context_tokens) == (
                "openai_compatible",
                "r4p",
                4096,
            )
    assert (served.name, served.context_tokens) == ("r4p", 4096)


def test_probe_assumes_a_default_context():
    with serve_chat(models=[Reply({"data": [{"id": "gpt"}]})]) as server:
        assert probe(server.url, "gpt").context_tokens == DEFAULT_CONTEXT_TOKENS


@pytest.mark.parametrize(
    ("models", "model", "message"),
    [
        (MODELS, "other", "does not serve 'other'; it serves r4p"),
        (Reply({"data": [{"id": "a"}, {"id": "b"}]}), None, r"2 models \(a, b\); name one"),
        (Reply({"data": []}), None, r"0 models \(none\)"),
        (Reply(b"<html>"), None, "no list of models"),
        (Reply([]), None, "no list of models"),
        (Reply({}, 404), None, r"HTTP 404.*ends in /v1"),
        (Reply({}, 401), None, r"refuses the API key \(HTTP 401\): none was given.*--api-key-file"),
    ],
    ids=["unknown", "several", "none", "html", "a list", "404", "401"],
)
def test_probe_reports_the_fault_in_one_line(models, model, message):
    with serve_chat(models=[models]) as server, pytest.raises(EngineDown, match=message) as failure:
        probe(server.url, model)
    assert "\n" not in str(failure.value)


def test_probe_names_a_dead_url():
    with pytest.raises(EngineDown, match=f"no engine answers at {DEAD_URL}"):
        probe(DEAD_URL, None)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://a:b/v1", ""])
def test_probe_refuses_an_invalid_url(url):
    with pytest.raises(BadEngine, match="is no http address"):
        probe(url, None)


def test_requests_log_with_the_ids_of_the_job_that_asks(caplog):
    job, seen = ContextVar("job"), []
    job.set(7)
    caplog.set_level(logging.INFO, "httpx")
    request = Request((Message("user", "patches"),), max_tokens=50, temperature=0.5, seed=7)
    with (
        serve_chat(models=[MODELS], chat=[build_completion("a")]) as server,
        closing(connect(server.url, "r4p")) as engine,
    ):
        caplog.handler.addFilter(lambda _record: seen.append(job.get(None)) or True)
        engine.complete([request])
    assert seen
    assert set(seen) == {7}
