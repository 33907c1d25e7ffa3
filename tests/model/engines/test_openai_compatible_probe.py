"""What a server says of itself when it is probed, and what is said of one that does not."""

from contextlib import closing

import pytest

from model.engines.openai_compatible import (
    DEFAULT_CONTEXT_TOKENS,
    connect,
    probe,
)
from model.errors import BadEngine, EngineDown
from tests.model.chat_server import DEAD_URL, MODELS, Reply, serve_chat


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
