"""What a process that is not trusted may ask the engine for, and what is paid."""

import time
from dataclasses import replace

import pytest

from model.engines.piped import Complete, Count
from model.engines.scripted import Line, Scripted
from model.protocols import Message, Request
from worker.till import Greedy, Till

YES = Line(reply="yes", repeat=True)


def asked(number, prompt="more", *, seconds=60.0, most=10):
    return Complete(number, (Request((Message("user", prompt),), most, 1.0, 1, seconds=seconds),))


class Slow(Scripted):
    """An engine that nothing hurries."""

    def complete(self, requests):
        time.sleep(0.1)
        return super().complete(requests)


class Warm(Scripted):
    """An engine that has every prompt in its cache."""

    def complete(self, requests):
        return [replace(one, cached_tokens=one.prompt_tokens) for one in super().complete(requests)]


def test_what_the_engine_had_in_its_cache_uses_no_budget_up():
    till = Till(Warm([YES]), tokens=20, attempts=1)
    for number in range(10):
        assert till.answer(asked(number, "more " * 100), 60).down is None
    assert till.spent == till.due == 10 * (125 + 1)
    assert till.answer(asked(11, most=11), 60).down is not None


def test_what_is_answered_is_paid_and_due():
    till = Till(Scripted([YES]), tokens=1_000, attempts=1)
    answer = till.answer(asked(7), 60)
    assert (answer.id, answer.replies[0].completion.text) == (7, "yes")
    assert (till.spent, till.due) == (2, 2)
    assert till.answer(Count(8, "12345"), 60).tokens == 2
    assert till.spent == 2


def test_a_request_that_could_pass_what_is_left_is_refused():
    till = Till(Scripted([YES]), tokens=11, attempts=1)
    assert till.answer(asked(1), 60).down is None
    assert (
        "the 11 tokens that this work may cost are used up" in till.answer(asked(2), 60).down.said
    )
    assert till.answer(asked(3, most=9), 60).down is None


def test_a_late_answer_is_paid_and_not_due_once_for_each_attempt():
    till = Till(Slow([YES]), tokens=1_000, attempts=2)
    till.answer(asked(1, seconds=0.01), 60)
    till.answer(asked(2), 0.01)
    assert (till.spent, till.due) == (4, 0)
    with pytest.raises(Greedy, match="gave up on more answers"):
        till.answer(asked(3, seconds=0.01), 60)


def test_an_engine_is_told_how_long_it_has():
    till = Till(Scripted([Line(stall_seconds=60)]), tokens=1_000, attempts=1)
    began = time.monotonic()
    (reply,) = till.answer(asked(1, seconds=None), 0.05).replies
    assert reply.failure.kind == "TimedOut"
    assert time.monotonic() - began < 30
