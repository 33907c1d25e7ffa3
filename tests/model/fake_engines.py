"""Engines for tests: a script that remembers what it was asked, and one that weighs its words."""

import math
import threading

from model.engines.scripted import ScriptedEngine
from model.errors import EngineError
from model.protocols import Completion, Token


class RecordingEngine(ScriptedEngine):
    """A scripted engine that remembers what it was asked."""

    def __init__(self, *lines, **options):
        super().__init__(lines, **options)
        self.batches = []

    @property
    def requests(self):
        return [request for batch in self.batches for request in batch]

    def complete(self, requests):
        self.batches.append(list(requests))
        return super().complete(requests)


class HangingEngine(ScriptedEngine):
    """An engine that takes a minute to answer, whatever time it is given."""

    def __init__(self):
        super().__init__([])

    def complete(self, requests):
        threading.Event().wait(60)
        return super().complete(requests)


def build_token(text, **chances):
    """A token with alternatives given as probabilities: `token("YES", YES=0.7, NO=0.2)`."""
    listed = tuple((one, math.log(chance)) for one, chance in chances.items())
    return Token(text, dict(listed).get(text, math.log(0.5)), listed)


class LogprobEngine(RecordingEngine):
    """Answers each prompt that contains a key with the tokens it stands for; a text instead fails the request."""

    def __init__(self, answers, **options):
        super().__init__(**options)
        self._answers = answers

    def _answer(self, request):
        prompt = request.messages[-1].content + (request.prefill or "")
        said = next(answer for key, answer in self._answers.items() if key in prompt)
        if isinstance(said, str):
            return EngineError(said)
        text = "".join(one.text for one in said)
        return Completion(text, True, 10, 0, len(said), tuple(said) if request.top_logprobs else ())
