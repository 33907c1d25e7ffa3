"""What a process that is not trusted may ask the engine for, and what is paid."""

import time
from dataclasses import replace

import pytest

from model.engines.pipe_engine import (
    CompletionQuestion,
    PipeEngine,
    TokenCountQuestion,
    describe_engine,
)
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import EngineDown
from model.protocols import Message, Request
from tests.services import wait_for
from worker.agents import metered_engine as till_module
from worker.agents.metered_engine import EngineRequests, LimitExceeded, MeteredEngine

YES = ScriptLine(reply="yes", repeat=True)


def build_question(number, prompt="more", *, seconds=60.0, most=10):
    return CompletionQuestion(
        number, (Request((Message("user", prompt),), most, 1.0, 1, seconds=seconds),)
    )


class Slow(ScriptedEngine):
    """An engine that nothing hurries."""

    def complete(self, requests):
        time.sleep(0.1)
        return super().complete(requests)


class Warm(ScriptedEngine):
    """An engine that has every prompt in its cache."""

    def complete(self, requests):
        return [replace(one, cached_tokens=one.prompt_tokens) for one in super().complete(requests)]


def test_cached_tokens_use_no_budget():
    till = MeteredEngine(Warm([YES]), tokens=1_000, attempts=1)
    for number in range(10):
        assert till.answer(build_question(number, "more " * 100), 60).down is None
    assert till.used_tokens == till.on_time_tokens == 10 * (125 + 1)
    assert till.token_cost == 10
    assert till.answer(build_question(11, most=900), 60).down is not None


def test_an_answered_question_is_paid_and_on_time():
    till = MeteredEngine(ScriptedEngine([YES]), tokens=1_000, attempts=1)
    answer = till.answer(build_question(7), 60)
    assert (answer.id, answer.replies[0].completion.text) == (7, "yes")
    assert (till.used_tokens, till.on_time_tokens) == (2, 2)
    assert till.answer(TokenCountQuestion(8, "12345"), 60).tokens == 2
    assert till.used_tokens == 2


def test_a_request_that_could_pass_what_is_left_is_refused():
    till = MeteredEngine(ScriptedEngine([YES]), tokens=1_000, attempts=1)
    assert till.answer(build_question(1), 60).down is None
    assert not till.is_exhausted
    message = till.answer(build_question(2, most=990), 60).down.message
    assert "the 1,000 tokens that this work may cost are used up" in message
    assert till.is_exhausted
    assert till.answer(build_question(3), 60).down is None


def test_a_prompt_has_its_price_too():
    till = MeteredEngine(ScriptedEngine([YES]), tokens=100, attempts=1)
    assert till.answer(build_question(1, "1" * 400_000, most=8), 60).down is not None
    assert (till.used_tokens, till.token_cost) == (0, 0)


def test_no_request_is_dearer_than_the_context():
    engine = ScriptedEngine([YES], context_tokens=500)
    till = MeteredEngine(engine, tokens=500, attempts=1)
    assert till.answer(build_question(1, "more " * 300, most=100), 60).down is None


def test_a_question_over_budget_is_answered_in_part():
    till = MeteredEngine(ScriptedEngine([YES]), tokens=1_000, attempts=1)
    (request,) = build_question(1, "more " * 50).requests
    replies = till.answer(CompletionQuestion(1, (request,) * 4), 60).replies
    assert [bool(reply.completion) for reply in replies] == [True, True, False, False]
    assert "used up" in replies[3].failure.message


def test_a_late_answer_is_paid_and_not_due_once_for_each_attempt():
    till = MeteredEngine(Slow([YES]), tokens=1_000, attempts=2)
    till.answer(build_question(1, seconds=0.01), 60)
    till.answer(build_question(2), 0.01)
    assert (till.used_tokens, till.on_time_tokens) == (4, 0)
    with pytest.raises(LimitExceeded, match="more late answers"):
        till.answer(build_question(3, seconds=0.01), 60)


def test_an_engine_is_told_how_long_it_has():
    till = MeteredEngine(ScriptedEngine([ScriptLine(stall_seconds=60)]), tokens=1_000, attempts=1)
    began = time.monotonic()
    (reply,) = till.answer(build_question(1, seconds=None), 0.05).replies
    assert reply.failure.kind == "EngineTimeout"
    assert time.monotonic() - began < 30


class Uncounted(ScriptedEngine):
    """An engine whose tokenizer is away."""

    def count_tokens(self, text):
        raise EngineDown(f"no tokenizer for {len(text)} characters")


def test_an_engine_that_can_not_count_says_so_and_is_not_asked_for_what_fits_nowhere():
    till = MeteredEngine(Uncounted([YES], context_tokens=100), tokens=100, attempts=1)
    assert till.answer(TokenCountQuestion(1, "x" * 1_600), 60).down.kind == "EngineDown"
    assert till.answer(TokenCountQuestion(2, "x" * 1_601), 60).tokens == 1_601
    piped = PipeEngine(
        describe_engine(ScriptedEngine([YES])), lambda question: till.answer(question, 60)
    )
    with pytest.raises(EngineDown, match="no tokenizer"):
        piped.count_tokens("x")


def test_texts_are_counted_so_often_and_no_more():
    till = MeteredEngine(ScriptedEngine([YES]), tokens=100, attempts=1)
    for number in range(2_000):
        till.check_limits(TokenCountQuestion(number, "x"))
    with pytest.raises(LimitExceeded, match="2,000 texts counted"):
        till.check_limits(TokenCountQuestion(2_000, "x"))


class Eager:
    """A process that asks again as soon as it hears an answer."""

    seconds_left = 60.0

    def __init__(self):
        self.heard, self.errors, self.asking = [], [], None

    def send(self, raw):
        self.heard.append(raw)
        if len(self.heard) < 3:
            try:
                self.asking.submit(build_question(len(self.heard)))
            except LimitExceeded as error:
                self.errors.append(error)

    def kill(self):
        self.errors.append("killed")


def test_a_process_may_ask_again_right_after_an_answer(monkeypatch):
    monkeypatch.setattr(till_module, "_TOGETHER", 1)
    process = Eager()
    with EngineRequests(
        MeteredEngine(ScriptedEngine([YES]), tokens=10_000, attempts=1), process
    ) as asking:
        process.asking = asking
        asking.submit(build_question(0))
        wait_for(lambda: len(process.heard) == 3 or process.errors, seconds=10)
        assert process.errors == []
