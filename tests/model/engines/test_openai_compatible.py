"""The client of OpenAI-compatible servers, against a real one on loopback that behaves and misbehaves."""

import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from model.engines.openai_compatible import (
    Endpoint,
    OpenAICompatible,
)
from model.errors import EngineDown, EngineError, EngineTimeout
from model.protocols import Completion, Message, Request, Token
from tests.model.chat_server import (
    DEAD_URL,
    MODELS,
    Reply,
    build_choices,
    build_completion,
    serve_chat,
)

MESSAGES = (Message("system", "judge"), Message("user", "patches"))
REQUEST = Request(MESSAGES, max_tokens=50, temperature=0.5, seed=7)


@contextmanager
def open_engine(url, **options):
    options = {"reply_seconds": 5.0, "pause_seconds": 0.01} | options
    with closing(OpenAICompatible(Endpoint(url, "r4p", **options))) as engine:
        yield engine


def ask(server, *requests, **options):
    with open_engine(server.url, **options) as engine:
        return engine.complete(requests or [REQUEST])


def test_completion_is_requested_and_parsed():
    with serve_chat(chat=[build_completion("so \\boxed{1}")]) as server:
        answers = ask(server)
    assert answers == [Completion("so \\boxed{1}", True, 100, 64, 7)]
    assert server.list_bodies("/v1/chat/completions") == [
        {
            "model": "r4p",
            "messages": [
                {"role": "system", "content": "judge"},
                {"role": "user", "content": "patches"},
            ],
            "max_tokens": 50,
            "temperature": 0.5,
            "seed": 7,
            "n": 1,
            "stream": False,
        }
    ]


def test_prefill_continues_the_opened_turn_as_in_vllm():
    with serve_chat(chat=[build_completion("1}")]) as server:
        ask(server, Request(MESSAGES, 9, 1.0, 7, prefill="so \\boxed{"))
    (body,) = server.list_bodies("/v1/chat/completions")
    assert body["messages"][-1] == {"role": "assistant", "content": "so \\boxed{"}
    assert body["continue_final_message"] is True
    assert body["add_generation_prompt"] is False


def build_seeded(*numbers, **changes):
    return [replace(REQUEST, seed=number, **changes) for number in numbers]


def test_requests_that_differ_only_in_seed_are_sent_as_one():
    changes = replace(REQUEST, max_tokens=9)
    replies = [build_choices("a", "b", "c"), build_completion("d")]
    with serve_chat(chat=replies) as server:
        answers = ask(server, *build_seeded(5, 6), changes, *build_seeded(7), concurrency=1)
    assert [answer.text for answer in answers] == ["a", "b", "d", "c"]
    assert [(body["n"], body["seed"]) for body in server.list_bodies("/v1/chat/completions")] == [
        (3, 5),
        (1, 7),
    ]


def test_tokens_of_a_shared_prompt_are_counted_once():
    with serve_chat(chat=[build_choices("a", "b", "c", completion_tokens=8)]) as server:
        answers = ask(server, *build_seeded(1, 2, 3))
    assert [(a.prompt_tokens, a.cached_tokens, a.completion_tokens) for a in answers] == [
        (100, 64, 3),
        (0, 0, 3),
        (0, 0, 2),
    ]


def test_greedy_requests_are_sent_alone():
    with serve_chat(chat=[build_completion("x")]) as server:
        ask(server, *build_seeded(1, 2, temperature=0.0))
    assert [body["n"] for body in server.list_bodies("/v1/chat/completions")] == [1, 1]


@pytest.mark.parametrize(
    "first",
    [build_completion("x"), Reply({"message": "n must be 1"}, 400), Reply({}, 422)],
    ids=["ignores n", "refuses n", "finds n invalid"],
)
def test_server_without_n_is_asked_one_by_one_from_then_on(first):
    with (
        serve_chat(chat=[first, build_completion("x")]) as server,
        open_engine(server.url) as engine,
    ):
        assert [answer.text for answer in engine.complete(build_seeded(1, 2, 3))] == ["x"] * 3
        engine.complete(build_seeded(1, 2, 3))
        asked = [(body["n"], body["seed"]) for body in server.list_bodies("/v1/chat/completions")]
    assert asked[0] == (3, 1)
    assert sorted(asked[-3:]) == [(1, 1), (1, 2), (1, 3)]


def test_refused_prompt_fails_each_request_and_keeps_n():
    with serve_chat(chat=[Reply({"message": "too long"}, 400)]) as server:
        with open_engine(server.url) as engine:
            assert all(isinstance(one, EngineError) for one in engine.complete(build_seeded(1, 2)))
            engine.complete(build_seeded(1, 2))
        assert [body["n"] for body in server.list_bodies("/v1/chat/completions")] == [2, 1, 1] * 2


def test_server_error_fails_all_samples_without_a_retry():
    with serve_chat(chat=[Reply({}, 500)]) as server:
        assert ["HTTP 500" in str(one) for one in ask(server, *build_seeded(1, 2))] == [True, True]
        assert len(server.seen) == 1


def test_log_probabilities_leave_out_the_end_token():
    reported = {
        "content": [
            {"token": "YES", "logprob": -0.5, "top_logprobs": [{"token": "YES", "logprob": -0.5}]},
            {"token": "<|im_end|>", "logprob": -0.1, "top_logprobs": []},
        ]
    }
    with serve_chat(chat=[build_choices("YES", logprobs=reported)]) as server:
        (answer,) = ask(server, replace(REQUEST, top_logprobs=2))
    (body,) = server.list_bodies("/v1/chat/completions")
    assert (body["logprobs"], body["top_logprobs"]) == (True, 2)
    assert answer.tokens == (Token("YES", -0.5, (("YES", -0.5),)),)


def test_reply_without_log_probabilities_has_no_tokens():
    with serve_chat(chat=[build_choices("YES", logprobs=None)]) as server:
        (answer,) = ask(server, replace(REQUEST, top_logprobs=2))
    assert (answer.text, answer.tokens) == ("YES", ())


def test_api_key_is_sent_and_not_shown():
    with serve_chat(chat=[build_completion("x")]) as server:
        ask(server, api_key="s3cret")
    assert server.seen[0][1]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(Endpoint("u", "m", "s3cret"))


def test_requests_run_concurrently_up_to_the_limit():
    gate = threading.Event()
    with serve_chat(chat=[Reply(build_completion("x").body, wait_for=gate)]) as server:
        with open_engine(server.url, concurrency=3) as engine:
            asked = [replace(REQUEST, max_tokens=1 + n) for n in range(7)]
            waiting = threading.Thread(target=engine.complete, args=(asked,))
            waiting.start()
            while server.together < 3:
                gate.wait(0.005)
            gate.set()
            waiting.join()
        assert server.most_together == 3
        assert len(server.seen) == 7


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply({"error": "kaputt"}, 500), "HTTP 500.*kaputt"),
        (Reply({"message": "prompt too long"}, 400), "HTTP 400.*too long"),
        (Reply(b"<html>hello</html>"), "no chat completion.*html"),
        (Reply({"choices": []}), "no chat completion"),
        (Reply([1]), "no chat completion"),
        (Reply(b'{"choices": [{"mess'), "no chat completion"),
        (Reply(b'{"choices": [{"mess', cut=True), "closed the connection"),
    ],
    ids=["500", "400", "html", "no choices", "a list", "half JSON", "half an answer"],
)
def test_failed_request_is_returned_and_not_repeated(reply, message):
    with serve_chat(chat=[reply]) as server:
        (answer,) = ask(server)
        assert isinstance(answer, EngineError)
        assert not isinstance(answer, EngineDown)
        with pytest.raises(EngineError, match=message):
            raise answer
        assert len(server.seen) == 1


def test_slow_reply_is_given_up_and_not_repeated():
    gate = threading.Event()
    with serve_chat(chat=[Reply(build_completion("late").body, wait_for=gate)]) as server:
        (answer,) = ask(server, reply_seconds=0.2)
        gate.set()
        assert "closed the connection" in str(answer)
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "busy", [None, Reply({}, 503, {"Retry-After": "20"})], ids=["silent", "busy"]
)
def test_request_ends_with_its_own_time_limit(busy):
    gate = threading.Event()
    with serve_chat(chat=[busy or Reply(build_completion("late").body, wait_for=gate)]) as server:
        began = time.monotonic()
        (answer,) = ask(server, replace(REQUEST, seconds=0.3))
        gate.set()
        assert isinstance(answer, EngineTimeout)
        assert time.monotonic() - began < 5
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_asked_again_after_its_retry_time(status):
    busy = Reply({}, status, {"Retry-After": "0.01"})
    with serve_chat(chat=[busy, busy, build_completion("x")]) as server:
        (answer,) = ask(server)
        assert isinstance(answer, Completion)
        assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("after", "requests"), [(None, 1), ("3600", 1), ("tomorrow", 1), ("-1", 1), ("0", 3)]
)
def test_server_that_stays_busy_or_names_no_time_is_down(after, requests):
    busy = Reply({}, 429, {"Retry-After": after} if after else {})
    with serve_chat(chat=[busy]) as server:
        with pytest.raises(EngineDown, match="HTTP 429"):
            ask(server)
        assert len(server.seen) == requests


@pytest.mark.parametrize("status", [401, 403, 404])
def test_server_that_refuses_key_or_model_is_down(status):
    with serve_chat(chat=[Reply({}, status)]) as server, pytest.raises(EngineDown):
        ask(server)


def test_unreachable_server_is_down():
    with open_engine(DEAD_URL) as engine, pytest.raises(EngineDown, match="can't be reached"):
        engine.complete([REQUEST, REQUEST])


def test_answers_before_the_server_went_down_are_kept():
    with serve_chat(chat=[build_completion("x"), Reply({}, 503)]) as server:
        answers = ask(server, REQUEST, replace(REQUEST, max_tokens=9), concurrency=1)
    assert isinstance(answers[0], Completion)
    assert isinstance(answers[1], EngineDown)


def test_cut_reply_without_usage_is_parsed():
    choice = {"message": {"content": None}, "finish_reason": "length"}
    with serve_chat(chat=[Reply({"choices": [choice]})]) as server:
        assert ask(server) == [Completion("", False, 0, 0, 0)]


def test_no_request_gives_no_answer():
    with open_engine(DEAD_URL) as engine:
        assert engine.complete([]) == []


def test_server_counts_tokens():
    with serve_chat(tokenize=[Reply({"count": 42})]) as server, open_engine(server.url) as engine:
        assert engine.count_tokens("text") == 42
        assert server.list_bodies("/tokenize") == [
            {"model": "r4p", "prompt": "text", "add_special_tokens": False}
        ]


def test_server_is_asked_for_its_special_tokens_until_it_tells_them():
    told = Reply({"added_tokens_decoder": {"7": "<zz_role>", "8": "None"}, "eos_token": "zzstop"})
    silent = [Reply({"detail": "Not Found"}, 404), Reply(b"<html>"), Reply({}, 200, cut=True)]
    with serve_chat(tokenizer_info=[*silent, told]) as server, open_engine(server.url) as engine:
        assert [engine.special_tokens for _ in silent] == [None] * 3
        assert [engine.special_tokens for _ in range(2)] == [{"<zz_role>", "zzstop"}] * 2
        assert len(server.seen) == 4
    with open_engine(DEAD_URL) as engine:
        assert engine.special_tokens is None


def test_tokens_are_estimated_where_the_server_cannot_count():
    with serve_chat(models=[MODELS]) as server, open_engine(server.url) as engine:
        assert engine.count_tokens("abcde") == 3
        assert engine.count_tokens("é\ud800") == 2
        assert len(server.seen) == 1, "the server is asked once"
    with open_engine(DEAD_URL) as engine:
        assert engine.count_tokens("abcd") == 2
