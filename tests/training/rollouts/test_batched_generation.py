"""Conversations gathered into batches: a real tokenizer, a model that is a function."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from model.errors import EngineDown, NoTools
from model.protocols import Message, Request, Tool
from tests.builders import tiny_model
from training.rollouts.batched_generation import SharedModel, run_conversations
from training.rollouts.tokenization import render_prompt, tokenize_text


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model._tokenizer()


def asking(*said, **options):
    turns = [Message("user" if at % 2 == 0 else "assistant", one) for at, one in enumerate(said)]
    return Request(tuple(turns), **{"max_tokens": 50, "temperature": 1.0, "seed": 0} | options)


def voice(tokenizer, **changes):
    batches = []

    def sample(ids):
        batches.append([tokenizer.decode(one) for one in ids])
        return [[*tokenize_text(tokenizer, f"of {len(ids)}"), tokenizer.eos_token_id] for _ in ids]

    return SharedModel(tokenizer, 4096, **{"sample": sample} | changes), batches


def test_all_that_wait_are_answered_in_one_batch(tokenizer):
    def talk(rounds):
        def one(line):
            said = ["Hello."]
            for _ in range(rounds):
                (answer,) = line.complete([asking(*said)])
                said += [answer.text, "Go on."]
            return said[1::2]

        return one

    speaking, batches = voice(tokenizer)
    assert run_conversations(speaking, [talk(1), talk(3), talk(2)]) == [
        ["of 3"],
        ["of 3", "of 2", "of 1"],
        ["of 3", "of 2"],
    ]
    assert [len(one) for one in batches] == [3, 2, 1]
    assert batches[1][0].startswith(batches[0][0] + "of 3<|im_end|>")
    assert run_conversations(speaking, []) == []


def test_a_reply_is_as_long_as_was_asked_for_and_says_so(tokenizer):
    def one(line):
        cut, whole = line.complete([asking("Hi.", max_tokens=1), asking("Hi.", token_ids=True)])
        return cut, whole, line.replies

    speaking, _ = voice(tokenizer)
    ((cut, whole, sampled),) = run_conversations(speaking, [one])
    assert (cut.finished, cut.completion_tokens, cut.token_ids) == (False, 1, ())
    assert whole.finished
    assert [list(whole.token_ids), whole.prompt_tokens] == [
        sampled[1],
        len(tokenize_text(tokenizer, render_prompt(tokenizer, asking("Hi.").messages))),
    ]


def test_tools_are_told_in_words(tokenizer):
    tool = Tool("look", "Looks.", {"type": "object", "properties": {}})
    speaking, _ = voice(tokenizer)
    (answers,) = run_conversations(
        speaking, [lambda line: line.complete([asking("Hi.", tools=(tool,))])]
    )
    assert isinstance(answers[0], NoTools)


def test_a_model_that_breaks_ends_every_conversation_and_is_raised(tokenizer):
    ends = []

    def one(line):
        try:
            line.complete([asking("Hi.")])
        except EngineDown as error:
            ends.append(str(error))
            line.complete([asking("Again.")])

    def breaking(_ids):
        raise MemoryError("no room")

    speaking, _ = voice(tokenizer, sample=breaking)
    with pytest.raises(MemoryError, match="no room"):
        run_conversations(speaking, [one, one])
    assert ends == ["the model in training failed: no room"] * 2


def test_a_model_that_answers_too_few_answers_nobody(tokenizer):
    ends = []

    def one(line):
        with pytest.raises(EngineDown) as down:
            line.complete([asking("Hi.")])
        ends.append(str(down.value))

    speaking, _ = voice(tokenizer, sample=lambda ids: ids[1:])
    with pytest.raises(ValueError, match="shorter"):
        run_conversations(speaking, [one, one])
    assert len(ends) == 2


def test_what_a_conversation_raises_is_raised(tokenizer):
    speaking, _ = voice(tokenizer)
    with pytest.raises(ZeroDivisionError):
        run_conversations(speaking, [lambda _line: 1 / 0])


def test_processes_ask_equally_often_the_idle_one_for_nothing(tokenizer):
    here, there = [], []
    barrier, flags = Barrier(2), {}

    def anybody(name):
        def ask(asks):
            flags[name] = asks
            barrier.wait(30)
            found = any(flags.values())
            barrier.wait(30)
            return found

        return ask

    def process(name, batches, rounds):
        def one(line):
            for _ in range(rounds):
                line.complete([asking("Hi.")])

        def sample(ids):
            batches.append(len(ids))
            return [[tokenizer.eos_token_id] for _ in ids]

        run_conversations(SharedModel(tokenizer, 4096, sample, anybody(name)), [one])

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(process, "a", here, 1), pool.submit(process, "b", there, 3)]
        for one in both:
            one.result(60)
    assert len(here) == len(there) == 3
