"""The embedded engine on a real small model (SmolLM2-135M): fetched once, unpacked once, then cached."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue
from model.errors import EngineDown, EngineError, EngineTimeout
from model.protocols import Message, Request
from tests.model.builders import build_patch

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def engine(steps):
    choice = EngineChoice(
        "local_transformers",
        model="smollm2-135m-instruct",
        cache=Path.home() / ".cache" / "r4p" / "models",
        on_step=lambda *step: steps.append(step),
    )
    engine = catalog.load_engine(choice)
    yield engine
    engine.close()


def request(text, *, seed=0, temperature=0.0, tokens=12, prefill=None):
    return Request((Message("user", text),), tokens, temperature, seed, prefill)


def texts(engine, *requests):
    return [answer.text for answer in engine.complete(requests)]


def test_a_group_is_judged_from_end_to_end(engine, steps):
    told = []
    verifier = catalog.load_verifier("r4p", engine, reply_tokens=16)
    verdict = verifier.verify(
        Issue("It breaks", "when the list is empty"),
        [build_patch("a", "return items or []"), build_patch("b", "raise ValueError")],
        votes=2,
        on_vote=lambda *progress: told.append(progress),
    )
    assert told == [(2, 2)]
    assert verdict.engine.model == "smollm2-135m-instruct"
    assert all(vote.correct is not None or (vote.reply and vote.failure) for vote in verdict.votes)
    assert all(vote.forced or vote.correct is not None for vote in verdict.votes)
    assert all(sum((one.votes.valid, one.votes.none)) == 2 for one in verdict.patches)
    assert verdict.tokens.cached > verdict.tokens.prompt / 3
    assert ("thinking, tokens", 1, 0) in steps


def test_the_model_says_what_it_was_trained_to_say(engine):
    (answer,) = engine.complete([request("What is the capital of France?")])
    assert "Paris" in answer.text
    assert answer.finished
    assert answer.prompt_tokens > 10


def test_a_seed_gives_the_same_words_again_and_another_seed_others(engine):
    ask = "Tell me a story about a dog."
    one, again, other = (
        texts(engine, request(ask, seed=seed, temperature=1.0, tokens=16))[0] for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


def test_a_row_whose_time_is_over_is_given_up_and_its_neighbour_answered(engine):
    endless = request("Tell me a long story.", temperature=1.0, tokens=4000)
    late, fine = engine.complete([replace(endless, seconds=0.5), request("Hello", tokens=2)])
    assert isinstance(late, EngineTimeout)
    assert fine.text
    assert texts(engine, request("Hello", tokens=2)) == [fine.text]


def test_neighbours_of_any_length_do_not_change_an_answer(engine):
    short = request("What is the capital of France?")
    long = request("Remember these words: " + "apple, pear, plum, " * 20 + ". What is 1 + 1?")
    assert texts(engine, short, long, short)[::2] == texts(engine, short) * 2


def test_a_reply_is_taken_up_from_what_was_kept(engine):
    ask = "What is the capital of France?"
    (opening,) = engine.complete([request(ask, tokens=3)])
    assert not opening.finished
    taken_up, mismatched = engine.complete(
        [request(ask, prefill=opening.text), request(ask, prefill="The answer: Par")]
    )
    engine.complete([request("Something else.", tokens=1)])
    (read_anew,) = engine.complete([request(ask, prefill=opening.text)])
    assert taken_up.text == read_anew.text
    assert taken_up.cached_tokens > 10
    assert read_anew.cached_tokens < taken_up.cached_tokens
    assert mismatched.text.startswith("is")


def test_a_beginning_is_read_once_for_all_batches_of_a_call_and_for_the_next(engine):
    story = "Remember these words: " + "apple, pear, plum, " * 20
    asked = [request(f"{story} {n}.", seed=n, tokens=1) for n in range(10)]
    answers = engine.complete(asked)
    *others, most = sorted(answer.prompt_tokens - answer.cached_tokens for answer in answers)
    assert most > 100
    assert max(others) < 20
    (again,) = engine.complete([request(f"{story} 99.", tokens=1)])
    assert again.prompt_tokens - again.cached_tokens < 20


def test_a_known_beginning_does_not_change_an_answer(engine):
    engine.complete([request("Something else.", tokens=1)])
    first = texts(engine, request("What is the capital of France?"))
    engine.complete([request("What is the capital of Spain?", tokens=1)])
    assert texts(engine, request("What is the capital of France?")) == first


def test_log_probabilities_are_those_of_the_reply_at_any_temperature(engine):
    ask = "What is the capital of France?"
    cold, hot = (
        engine.complete([replace(request(ask, temperature=heat), top_logprobs=4)])[0]
        for heat in (0.0, 1.0)
    )
    for answer in (cold, hot):
        assert "".join(token.text for token in answer.tokens) == answer.text
        for token in answer.tokens:
            chances = [math.exp(chance) for _, chance in token.top_logprobs]
            assert len(chances) == 4
            assert sum(chances) <= 1
            assert chances == sorted(chances, reverse=True)
            assert token.log_probability <= token.top_logprobs[0][1]
    assert all(token.top_logprobs[0][0] == token.text for token in cold.tokens)
    assert cold.tokens[0].top_logprobs[0][0] == hot.tokens[0].top_logprobs[0][0]


def test_a_reply_without_alternatives_asked_for_has_no_tokens(engine):
    assert engine.complete([request("Hi.", tokens=2)])[0].tokens == ()


def test_a_prompt_above_the_context_fails_alone(engine):
    fine, too_long = engine.complete([request("Hi.", tokens=1), request("word " * 9000)])
    assert not isinstance(fine, EngineError)
    assert isinstance(too_long, EngineError)
    assert "exceed the context of 8192" in str(too_long)


def test_tokens_are_counted_exactly(engine):
    assert engine.count_tokens("hello world") == 2


def test_a_directory_without_a_model_is_no_engine(tmp_path):
    from model.engines.local_transformers import LocalTransformers  # noqa: PLC0415 - needs torch

    with pytest.raises(EngineDown, match="no usable model"):
        LocalTransformers(tmp_path, model="none")
