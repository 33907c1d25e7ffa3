"""Calls of several threads share batches, and each gets its own answers."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from model.errors import EngineDown
from model.protocols import Completion, Message, Request
from training.gpu_proof.shared_batches import SharedBatches


class EchoEngine:
    """Answers with the prompt, and holds its first call until `open` is set."""

    name, model, context_tokens, special_tokens = "echo", "echo-1", 100, frozenset({"<s>"})

    def __init__(self, failure=None):
        self.sizes, self.open, self.begun = [], threading.Event(), threading.Event()
        self.failure, self.is_closed = failure, False

    def count_tokens(self, text):
        return len(text)

    def complete(self, requests):
        self.sizes.append(len(requests))
        self.begun.set()
        self.open.wait(10)
        if self.failure:
            raise self.failure
        return [
            Completion(
                r.messages[0].content,
                finished=True,
                prompt_tokens=1,
                cached_tokens=0,
                completion_tokens=1,
            )
            for r in requests
        ]

    def close(self):
        self.is_closed = True


def build_requests(*texts):
    return [
        Request((Message("user", text),), max_tokens=4, temperature=0.0, seed=1) for text in texts
    ]


def ask_together(engine):
    """Ask with one thread, and then with three more while the first call runs."""
    shared = SharedBatches(engine)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(shared.complete, build_requests("a"))]
        engine.begun.wait(10)
        asked += [
            pool.submit(shared.complete, build_requests(*texts)) for texts in ("bc", "def", "")
        ]
        while len(shared._waiting) < 3:
            pass
        engine.open.set()
        return asked


def test_waiting_calls_go_together_and_keep_their_answers():
    engine = EchoEngine()
    replies = [[answer.text for answer in call.result()] for call in ask_together(engine)]
    assert replies == [["a"], ["b", "c"], ["d", "e", "f"], []]
    assert engine.sizes == [1, 5]


def test_every_caller_gets_the_engines_error():
    for call in ask_together(EchoEngine(EngineDown("no answer"))):
        error = call.exception()
        assert error is None or isinstance(error, EngineDown)
    with pytest.raises(EngineDown, match="no answer"):
        ask_together(EchoEngine(EngineDown("no answer")))[1].result()


def test_it_looks_like_its_engine():
    engine = EchoEngine()
    shared = SharedBatches(engine)
    assert (shared.name, shared.model, shared.context_tokens) == ("echo", "echo-1", 100)
    assert (shared.count_tokens("four"), shared.special_tokens) == (4, {"<s>"})
    shared.close()
    assert engine.is_closed
