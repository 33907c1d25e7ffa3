"""What a server lacks is said in one line each, with what to change; the whole vLLM is tried in test_vllm."""

import pytest

from model.engines.server_check import check_server
from model.errors import EngineDown
from model.voting.yes_no_probability import TOP_LOGPROBS
from tests.model.chat_server import MODELS, Reply, build_choices, build_completion, serve_chat

BARE = Reply({"data": [{"id": "gpt"}]})


def test_bare_server_lacks_every_ability():
    with serve_chat(models=[BARE], chat=[build_completion("yes")]) as server:
        result = check_server(server.url)
    assert [one.name for one in result.checks if not one.is_available] == [
        "context length",
        "tokenizer",
        "list of special tokens",
        "log-probabilities",
        "continued replies",
        "several samples of one prompt",
        "adapters at run time",
    ]
    assert result.missing_abilities[3] == (
        "no log-probabilities: the yes-no verifier can't work; start vLLM with --max-logprobs 20 or more"
    )
    assert not [line for line in result.missing_abilities if "\n" in line]


def test_available_ability_is_not_reported_missing():
    reported = {
        "content": [{"token": "y", "logprob": -1, "top_logprobs": [{"token": "y", "logprob": -1}]}]
    }
    able = build_choices("y", "y", logprobs=reported)
    told = Reply({"added_tokens_decoder": {"0": "<zz>"}})
    with serve_chat(
        models=[MODELS], chat=[able], tokenize=[Reply({"count": 1})], tokenizer_info=[told]
    ) as server:
        result = check_server(server.url, "r4p")
    assert result.served.context_tokens == 4096
    asked = {body.get("top_logprobs") for _path, _headers, body in server.seen if body}
    assert TOP_LOGPROBS in asked  # as many as yes-no will want
    assert [line.partition(":")[0] for line in result.missing_abilities] == [
        "no continued replies",
        "no adapters at run time",
    ]


def test_server_without_a_completion_is_down():
    with (
        serve_chat(models=[MODELS], chat=[Reply({"error": "out of memory"}, 500)]) as server,
        pytest.raises(EngineDown, match=r"the server returns no completion: .*out of memory"),
    ):
        check_server(server.url)
