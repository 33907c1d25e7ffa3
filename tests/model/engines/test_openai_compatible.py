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
from tests.model.chat_server import MODELS, Reply, build_choices, build_completion, serve_chat

MESSAGES = (Message("system", "judge"), Message("user", "patches"))
REQUEST = Request(MESSAGES, max_tokens=50, temperature=0.5, seed=7)


@contextmanager
def engine_at(url, **options):
    options = {"reply_seconds": 5.0, "pause_seconds": 0.01} | options
    with closing(OpenAICompatible(Endpoint(url, "r4p", **options))) as engine:
        yield engine


def ask(server, *requests, **options):
    with engine_at(server.url, **options) as engine:
        return engine.complete(requests or [REQUEST])


def test_a_completion_is_asked_for_and_read():
    with serve_chat(chat=[build_completion("so \\boxed{1}")]) as server:
        answers = ask(server)
    assert answers == [Completion("so \\boxed{1}", True, 100, 64, 7)]
    assert server.sent_to("/v1/chat/completions") == [
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


def test_a_prefill_continues_the_opened_turn_the_way_vllm_wants_it():
    with serve_chat(chat=[build_completion("1}")]) as server:
        ask(server, Request(MESSAGES, 9, 1.0, 7, prefill="so \\boxed{"))
    (body,) = server.sent_to("/v1/chat/completions")
    assert body["messages"][-1] == {"role": "assistant", "content": "so \\boxed{"}
    assert body["continue_final_message"] is True
    assert body["add_generation_prompt"] is False


def seeds(*numbers, **other):
    return [replace(REQUEST, seed=number, **other) for number in numbers]


def test_requests_that_differ_in_the_seed_alone_are_one_request():
    other = replace(REQUEST, max_tokens=9)
    replies = [build_choices("a", "b", "c"), build_completion("d")]
    with serve_chat(chat=replies) as server:
        answers = ask(server, *seeds(5, 6), other, *seeds(7), concurrency=1)
    assert [answer.text for answer in answers] == ["a", "b", "d", "c"]
    assert [(body["n"], body["seed"]) for body in server.sent_to("/v1/chat/completions")] == [
        (3, 5),
        (1, 7),
    ]


def test_what_a_shared_prompt_cost_is_counted_once():
    with serve_chat(chat=[build_choices("a", "b", "c", completion_tokens=8)]) as server:
        answers = ask(server, *seeds(1, 2, 3))
    assert [(a.prompt_tokens, a.cached_tokens, a.completion_tokens) for a in answers] == [
        (100, 64, 3),
        (0, 0, 3),
        (0, 0, 2),
    ]


def test_greedy_requests_travel_alone():
    with serve_chat(chat=[build_completion("x")]) as server:
        ask(server, *seeds(1, 2, temperature=0.0))
    assert [body["n"] for body in server.sent_to("/v1/chat/completions")] == [1, 1]


@pytest.mark.parametrize(
    "first",
    [build_completion("x"), Reply({"message": "n must be 1"}, 400), Reply({}, 422)],
    ids=["ignores n", "refuses n", "finds n invalid"],
)
def test_a_server_without_n_is_asked_one_by_one_from_then_on(first):
    with serve_chat(chat=[first, build_completion("x")]) as server, engine_at(server.url) as engine:
        assert [answer.text for answer in engine.complete(seeds(1, 2, 3))] == ["x"] * 3
        engine.complete(seeds(1, 2, 3))
        asked = [(body["n"], body["seed"]) for body in server.sent_to("/v1/chat/completions")]
    assert asked[0] == (3, 1)
    assert sorted(asked[-3:]) == [(1, 1), (1, 2), (1, 3)]


def test_a_prompt_that_is_refused_is_refused_for_each_and_n_is_kept():
    with serve_chat(chat=[Reply({"message": "too long"}, 400)]) as server:
        with engine_at(server.url) as engine:
            assert all(isinstance(one, EngineError) for one in engine.complete(seeds(1, 2)))
            engine.complete(seeds(1, 2))
        assert [body["n"] for body in server.sent_to("/v1/chat/completions")] == [2, 1, 1] * 2


def test_a_failure_that_may_have_been_billed_is_shared_and_not_repeated():
    with serve_chat(chat=[Reply({}, 500)]) as server:
        assert ["HTTP 500" in str(one) for one in ask(server, *seeds(1, 2))] == [True, True]
        assert len(server.seen) == 1


def test_alternatives_are_asked_for_and_read_without_the_mark_that_ends_a_reply():
    reported = {
        "content": [
            {"token": "YES", "logprob": -0.5, "top_logprobs": [{"token": "YES", "logprob": -0.5}]},
            {"token": "<|im_end|>", "logprob": -0.1, "top_logprobs": []},
        ]
    }
    with serve_chat(chat=[build_choices("YES", logprobs=reported)]) as server:
        (answer,) = ask(server, replace(REQUEST, top_logprobs=2))
    (body,) = server.sent_to("/v1/chat/completions")
    assert (body["logprobs"], body["top_logprobs"]) == (True, 2)
    assert answer.tokens == (Token("YES", -0.5, (("YES", -0.5),)),)


def test_a_server_that_keeps_log_probabilities_to_itself_gives_a_reply_without_tokens():
    with serve_chat(chat=[build_choices("YES", logprobs=None)]) as server:
        (answer,) = ask(server, replace(REQUEST, top_logprobs=2))
    assert (answer.text, answer.tokens) == ("YES", ())


def test_the_key_is_sent_and_never_shown():
    with serve_chat(chat=[build_completion("x")]) as server:
        ask(server, api_key="s3cret")
    assert server.seen[0][1]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(Endpoint("u", "m", "s3cret"))


def test_requests_run_at_once_but_not_all_and_answers_keep_their_order():
    gate = threading.Event()
    with serve_chat(chat=[Reply(build_completion("x").body, wait_for=gate)]) as server:
        with engine_at(server.url, concurrency=3) as engine:
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
def test_a_failed_request_is_data_and_is_not_sent_twice(reply, message):
    with serve_chat(chat=[reply]) as server:
        (answer,) = ask(server)
        assert isinstance(answer, EngineError)
        assert not isinstance(answer, EngineDown)
        with pytest.raises(EngineError, match=message):
            raise answer
        assert len(server.seen) == 1


def test_a_slow_reply_is_given_up_and_not_sent_twice():
    gate = threading.Event()
    with serve_chat(chat=[Reply(build_completion("late").body, wait_for=gate)]) as server:
        (answer,) = ask(server, reply_seconds=0.2)
        gate.set()
        assert "closed the connection" in str(answer)
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "busy", [None, Reply({}, 503, {"Retry-After": "20"})], ids=["silent", "busy"]
)
def test_a_request_is_given_up_when_its_own_time_is_over(busy):
    gate = threading.Event()
    with serve_chat(chat=[busy or Reply(build_completion("late").body, wait_for=gate)]) as server:
        began = time.monotonic()
        (answer,) = ask(server, replace(REQUEST, seconds=0.3))
        gate.set()
        assert isinstance(answer, EngineTimeout)
        assert time.monotonic() - began < 5
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_that_says_when_is_asked_again(status):
    busy = Reply({}, status, {"Retry-After": "0.01"})
    with serve_chat(chat=[busy, busy, build_completion("x")]) as server:
        (answer,) = ask(server)
        assert isinstance(answer, Completion)
        assert len(server.seen) == 3


@pytest.mark.parametrize("after", [None, "3600", "tomorrow", "-1"])
def test_a_busy_server_that_does_not_say_when_is_down(after):
    busy = Reply({}, 429, {"Retry-After": after} if after else {})
    with serve_chat(chat=[busy]) as server:
        with pytest.raises(EngineDown, match="HTTP 429"):
            ask(server)
        assert len(server.seen) == 1


def test_a_server_that_stays_busy_is_down():
    with serve_chat(chat=[Reply({}, 503, {"Retry-After": "0"})]) as server:
        with pytest.raises(EngineDown, match="HTTP 503"):
            ask(server)
        assert len(server.seen) == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_refuses_the_key_or_the_model_is_down(status):
    with serve_chat(chat=[Reply({}, status)]) as server, pytest.raises(EngineDown):
        ask(server)


def test_a_dead_server_is_tried_again_and_then_down(dead_url):
    with engine_at(dead_url) as engine, pytest.raises(EngineDown, match="can't be reached"):
        engine.complete([REQUEST, REQUEST])


def test_votes_that_were_paid_for_survive_a_server_that_goes_down():
    with serve_chat(chat=[build_completion("x"), Reply({}, 503)]) as server:
        answers = ask(server, REQUEST, replace(REQUEST, max_tokens=9), concurrency=1)
    assert isinstance(answers[0], Completion)
    assert isinstance(answers[1], EngineDown)


def test_a_cut_reply_and_missing_figures_are_read_as_such():
    choice = {"message": {"content": None}, "finish_reason": "length"}
    with serve_chat(chat=[Reply({"choices": [choice]})]) as server:
        assert ask(server) == [Completion("", False, 0, 0, 0)]


def test_no_request_is_no_answer(dead_url):
    with engine_at(dead_url) as engine:
        assert engine.complete([]) == []


def test_tokens_are_counted_by_the_server_where_it_can():
    with serve_chat(tokenize=[Reply({"count": 42})]) as server, engine_at(server.url) as engine:
        assert engine.count_tokens("text") == 42
        assert server.sent_to("/tokenize") == [
            {"model": "r4p", "prompt": "text", "add_special_tokens": False}
        ]


def test_tokens_are_estimated_high_where_the_server_cannot_and_it_is_asked_once():
    with serve_chat(models=[MODELS]) as server, engine_at(server.url) as engine:
        assert engine.count_tokens("abcde") == 3
        assert engine.count_tokens("é\ud800") == 2
        assert len(server.seen) == 1


def test_tokens_are_estimated_while_the_server_is_away(dead_url):
    with engine_at(dead_url) as engine:
        assert engine.count_tokens("abcd") == 2
