"""Conversations gathered into batches: a real tokenizer, a model that is a function."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from model.errors import EngineDown, NoTools
from model.protocols import Message, Request, Tool
from tests.builders.models import tiny_model
from training.rollouts.batched_generation import SharedModel, run_conversations
from training.rollouts.chat_encoding import SampledReply
from training.rollouts.tokenization import render_prompt, tokenize_text


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model._tokenizer()


def build_request(*turns, **options):
    turns = [
        Message("user" if at % 2 == 0 else "assistant", converse)
        for at, converse in enumerate(turns)
    ]
    return Request(tuple(turns), **{"max_tokens": 50, "temperature": 1.0, "seed": 0} | options)


def build_model(tokenizer, **changes):
    batches = []

    def sample(ids):
        batches.append([tokenizer.decode(one) for one in ids])
        reply = [*tokenize_text(tokenizer, f"of {len(ids)}"), tokenizer.eos_token_id]
        return [SampledReply(reply) for _ in ids]

    return SharedModel(tokenizer, 4096, **{"sample": sample} | changes), batches


def test_waiting_conversations_are_answered_in_one_batch(tokenizer):
    def talk(rounds):
        def converse(line):
            turns = ["Hello."]
            for _ in range(rounds):
                (answer,) = line.complete([build_request(*turns)])
                turns += [answer.text, "Go on."]
            return turns[1::2]

        return converse

    model, batches = build_model(tokenizer)
    assert run_conversations(model, [talk(1), talk(3), talk(2)]) == [
        ["of 3"],
        ["of 3", "of 2", "of 1"],
        ["of 3", "of 2"],
    ]
    assert [len(one) for one in batches] == [3, 2, 1]
    assert batches[1][0].startswith(batches[0][0] + "of 3<|im_end|>")
    assert run_conversations(model, []) == []


def test_reply_is_cut_at_its_limit(tokenizer):
    def converse(line):
        cut, whole = line.complete(
            [build_request("Hi.", max_tokens=1), build_request("Hi.", token_ids=True)]
        )
        return cut, whole, line.replies

    model, _ = build_model(tokenizer)
    ((cut, whole, sampled),) = run_conversations(model, [converse])
    assert (cut.finished, cut.completion_tokens, cut.token_ids) == (False, 1, ())
    assert whole.finished
    assert [list(whole.token_ids), whole.prompt_tokens] == [
        sampled[1].ids,
        len(tokenize_text(tokenizer, render_prompt(tokenizer, build_request("Hi.").messages))),
    ]


def test_request_with_tools_is_refused(tokenizer):
    tool = Tool("look", "Looks.", {"type": "object", "properties": {}})
    model, _ = build_model(tokenizer)
    (answers,) = run_conversations(
        model, [lambda line: line.complete([build_request("Hi.", tools=(tool,))])]
    )
    assert isinstance(answers[0], NoTools)


def test_broken_model_ends_every_conversation(tokenizer):
    ends = []

    def converse(line):
        try:
            line.complete([build_request("Hi.")])
        except EngineDown as error:
            ends.append(str(error))
            line.complete([build_request("Again.")])

    def breaking(_ids):
        raise MemoryError("no room")

    model, _ = build_model(tokenizer, sample=breaking)
    with pytest.raises(MemoryError, match="no room"):
        run_conversations(model, [converse, converse])
    assert ends == ["the model in training failed: no room"] * 2


def test_too_few_answers_end_every_conversation(tokenizer):
    ends = []

    def converse(line):
        with pytest.raises(EngineDown) as down:
            line.complete([build_request("Hi.")])
        ends.append(str(down.value))

    model, _ = build_model(tokenizer, sample=lambda ids: ids[1:])
    with pytest.raises(ValueError, match="shorter"):
        run_conversations(model, [converse, converse])
    assert len(ends) == 2


def test_exception_of_a_conversation_is_raised(tokenizer):
    model, _ = build_model(tokenizer)
    with pytest.raises(ZeroDivisionError):
        run_conversations(model, [lambda _line: 1 / 0])


def test_processes_sample_equally_often(tokenizer):
    here, there = [], []
    barrier, flags = Barrier(2), {}

    def anybody(name):
        def ask(asks):
            flags[name] = asks
            barrier.wait(30)
            any_asks = any(flags.values())
            barrier.wait(30)
            return any_asks

        return ask

    def process(name, batches, rounds):
        def converse(line):
            for _ in range(rounds):
                line.complete([build_request("Hi.")])

        def sample(ids):
            batches.append(len(ids))
            return [SampledReply([tokenizer.eos_token_id]) for _ in ids]

        run_conversations(SharedModel(tokenizer, 4096, sample, anybody(name)), [converse])

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(process, "a", here, 1), pool.submit(process, "b", there, 3)]
        for future in futures:
            future.result(60)
    assert len(here) == len(there) == 3
