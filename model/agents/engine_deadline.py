"""An engine is waited for as long as an attempt may take, even one that hangs."""

from collections.abc import Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread

from model.errors import EngineError, TimedOut
from model.protocols import Completion, Engine, Request

GRACE_SECONDS = 5.0
"""For an engine that stops by itself to say so."""

_Answers = list[Completion | EngineError]


def answers(engine: Engine, requests: Sequence[Request], seconds: float) -> _Answers:
    """As `engine.complete`, which is told how long it has; TimedOut for each request where it doesn't come back.

    Such an engine keeps a thread of its own busy until it does, which no process waits for. Raises EngineDown.
    """
    timed = [replace(request, seconds=seconds) for request in requests]
    answered: SimpleQueue[_Answers | BaseException] = SimpleQueue()
    Thread(target=_ask, args=(engine, timed, answered), daemon=True).start()
    try:
        found = answered.get(timeout=seconds + GRACE_SECONDS)
    except Empty:
        found = TimedOut(f"the engine gave no answer within {seconds:,.1f} s")
    if isinstance(found, TimedOut):
        return [found] * len(requests)
    if isinstance(found, BaseException):
        raise found
    return found


def _ask(
    engine: Engine, requests: list[Request], answered: "SimpleQueue[_Answers | BaseException]"
) -> None:
    try:
        answered.put(engine.complete(requests))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who asked
        answered.put(error)
