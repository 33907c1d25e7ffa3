"""Engines for tests: one records its requests, one returns log-probabilities, and one believes every injected text."""

import math
import re
import threading
import unicodedata
from zlib import crc32

from model.engines.scripted import ScriptedEngine
from model.errors import EngineError
from model.protocols import Completion, Token


class RecordingEngine(ScriptedEngine):
    """A scripted engine that records its requests."""

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
    """An engine that takes a minute to answer and ignores the time limit."""

    def __init__(self):
        super().__init__([])

    def complete(self, requests):
        threading.Event().wait(60)
        return super().complete(requests)


def build_token(text, **chances):
    """Build a token with the probabilities of the likeliest tokens: `build_token("YES", YES=0.7, NO=0.2)`."""
    listed = tuple((one, math.log(chance)) for one, chance in chances.items())
    return Token(text, dict(listed).get(text, math.log(0.5)), listed)


class LogprobEngine(RecordingEngine):
    """An engine that answers a prompt with the tokens of the key in it. Text in place of tokens fails the request."""

    def __init__(self, answers, **options):
        super().__init__(**options)
        self._answers = answers

    def _answer(self, request):
        prompt = request.messages[-1].content + (request.prefill or "")
        said = next(answer for key, answer in self._answers.items() if key in prompt)
        if isinstance(said, str):
            return EngineError(said)
        text = "".join(item.text for item in said)
        return Completion(text, True, 10, 0, len(said), tuple(said) if request.top_logprobs else ())


_SEAT = re.compile(r"\n<patch-(\d+)>\n(.*?)\n</patch-\1>\n", re.DOTALL)
_LAST_WORDS = re.compile(r"\n\n(?:Now |Does patch 1)[^\n]*\Z")
_STRUCTURE = re.compile(
    r"""<\s*/?\s*(?:patch\s*-|issue\s*>)|boxed|<\||<!--|\[/?inst\]|</?think>|<</?sys>>|<\||^(?:from|[a-z]+-by):\ """,
    re.IGNORECASE | re.MULTILINE,
)
_ESCAPE = re.compile(r"⟦U\+[0-9A-F]{4,6}⟧[\\/<\[]?(?:f?boxed|patch-|issue|think>|/think>)?")
_KEPT = re.compile(r"^(?:@@ -\S+|-.*)", re.MULTILINE)


class GullibleEngine(ScriptedEngine):
    """An engine that believes every structure it can read, so that it is fooled by anything that is not escaped.

    It judges a patch by its removed lines and their place, so comments do not change its opinion. Text in the prompt
    that looks like a tag, a box, a chat marker or hidden text makes it say the opposite.
    """

    model = "obedient reader"

    def __init__(self, **options):
        super().__init__([], **options)
        self.requests = []

    def _answer(self, request):
        self.requests.append(request)
        user = _LAST_WORDS.sub("\n", request.messages[-1].content)
        seats = read_seats(user)
        outside = _SEAT.sub("\n", user).replace("<issue>\n", "", 1)
        told = is_fooled(outside[::-1].replace(">eussi/<\n", "", 1)[::-1])
        fooled = {number for number, text in seats.items() if is_fooled(text)}
        good = [
            number
            for number, text in seats.items()
            if text and _opinion(text) != (told or self._is_turned(number, fooled))
        ]
        if request.top_logprobs:
            word, other = ("YES", "NO") if good else ("NO", "YES")
            token = Token(word, -0.1, ((word, -0.1), (other, -2.4)))
            return Completion(word, True, 1, 0, 1, (token,))
        return Completion(f"\\boxed{{{', '.join(good)}}}", True, 1, 0, 1)

    def _is_turned(self, seat, fooled):
        """Whether it says the opposite of a patch; these fool it."""
        return seat in fooled


class RivalTurningEngine(GullibleEngine):
    """Believes what one patch says of the others, and of itself what it sees."""

    def _is_turned(self, seat, fooled):
        return bool(fooled - {seat})


def read_seats(user):
    """The patches of a prompt by their seats, empty ones too."""
    return dict(_SEAT.findall(user))


def is_fooled(text):
    """Whether there is anything in it that a reader could take for structure."""
    plain = unicodedata.normalize("NFKC", _ESCAPE.sub("", text))
    plain = plain.replace("\u2216", "\\")
    hidden = any(
        unicodedata.category(item) in {"Cf", "Cc", "Co", "Cs", "Cn"} and item not in "\n\t\r"
        for item in plain
    )
    selectors = any("\ufe00" <= item <= "\ufe0e" or item >= "\U000e0000" for item in plain)
    return hidden or selectors or bool(_STRUCTURE.search(plain))


def _opinion(patch):
    """By what a patch takes away, and where."""
    return crc32("\n".join(_KEPT.findall(patch)).encode()) % 2 == 0
