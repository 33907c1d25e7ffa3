"""What a server lacks is said in one line each, with what to change; the whole vLLM is tried in test_vllm."""

import pytest

from model.engines.server_check import check_server
from model.errors import EngineDown
from model.voting.yes_no_probability import TOP_LOGPROBS
from tests.model.chat_server import MODELS, Reply, build_choices, build_completion, serve_chat

BARE = Reply({"data": [{"id": "gpt"}]})


def test_a_server_that_speaks_only_the_bare_api_lacks_the_rest():
    with serve_chat(models=[BARE], chat=[build_completion("yes")]) as server:
        found = check_server(server.url)
    assert [one.name for one in found.checks if not one.is_available] == [
        "context length",
        "tokenizer",
        "log-probabilities",
        "continued replies",
        "several samples of one prompt",
        "adapters at run time",
    ]
    assert found.missing_abilities[2] == (
        "no log-probabilities: the yes-no verifier can't work; start vLLM with --max-logprobs 20 or more"
    )
    assert not [line for line in found.missing_abilities if "\n" in line]


def test_what_a_server_has_is_not_reported_missing():
    reported = {
        "content": [{"token": "y", "logprob": -1, "top_logprobs": [{"token": "y", "logprob": -1}]}]
    }
    able = build_choices("y", "y", logprobs=reported)
    with serve_chat(models=[MODELS], chat=[able], tokenize=[Reply({"count": 1})]) as server:
        found = check_server(server.url, "r4p")
    assert found.served.context_tokens == 4096
    asked = {body.get("top_logprobs") for _path, _headers, body in server.seen if body}
    assert TOP_LOGPROBS in asked  # as many as yes-no will want
    assert [line.partition(":")[0] for line in found.missing_abilities] == [
        "no continued replies",
        "no adapters at run time",
    ]


def test_a_server_that_gives_no_token_at_all_is_down():
    with (
        serve_chat(models=[MODELS], chat=[Reply({"error": "out of memory"}, 500)]) as server,
        pytest.raises(EngineDown, match=r"the server returns no completion: .*out of memory"),
    ):
        check_server(server.url)


def test_a_dead_server_is_named():
    with pytest.raises(EngineDown, match="no engine answers"):
        check_server("http://127.0.0.1:9/v1")
