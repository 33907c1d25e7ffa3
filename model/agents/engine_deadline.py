"""Limit how long an attempt waits for its engine, even when the engine hangs."""

from collections.abc import Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread

from model.errors import EngineError, EngineTimeout
from model.protocols import Completion, Engine, Request

GRACE_SECONDS = 5.0
"""Extra time for an engine that stops by itself and reports EngineTimeout."""

_Answers = list[Completion | EngineError]


def complete_within(engine: Engine, requests: Sequence[Request], seconds: float) -> _Answers:
    """Send requests to an engine and return one completion or error each, within `seconds` and a short grace time.

    If the engine is late, every request gets an EngineTimeout. The late call keeps a daemon thread busy until it
    returns. Raises EngineDown.
    """
    timed = [replace(request, seconds=seconds) for request in requests]
    answered: SimpleQueue[_Answers | BaseException] = SimpleQueue()
    Thread(target=_ask, args=(engine, timed, answered), daemon=True).start()
    try:
        result = answered.get(timeout=seconds + GRACE_SECONDS)
    except Empty:
        result = EngineTimeout(f"the engine gave no answer within {seconds:,.1f} s")
    if isinstance(result, EngineTimeout):
        return [result] * len(requests)
    if isinstance(result, BaseException):
        raise result
    return result


def _ask(
    engine: Engine, requests: list[Request], answered: "SimpleQueue[_Answers | BaseException]"
) -> None:
    try:
        answered.put(engine.complete(requests))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who asked
        answered.put(error)
