"""From the log-probabilities of a reply to P(YES): the verdict's token is located, never counted off (pure)."""

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from model.protocols import Token

ALTERNATIVES = 20
"""Likeliest tokens to ask for: the most that vLLM and OpenAI give unless told otherwise."""

_CAPITALS = re.compile(r"(?<![A-Za-z])(?:YES|NO)(?![A-Za-z])")
_OPENING = re.compile(r"[^A-Za-z]*?(?=(?:yes|no)(?![A-Za-z]))", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Za-z]+")


def locate(tokens: Sequence[Token]) -> int | None:
    """Which token begins the verdict: the last YES or NO in capitals, else a yes or no that opens the reply."""
    text = "".join(token.text for token in tokens)
    words = [found.start() for found in _CAPITALS.finditer(text)]
    opening = _OPENING.match(text)
    start = words[-1] if words else opening and opening.end()
    if start is None:
        return None
    starts = [0, *accumulate(len(token.text) for token in tokens)]
    return bisect_right(starts, start) - 1


def belief(token: Token) -> float | None:
    """P(YES) / (P(YES) + P(NO)) at a token, over all spellings of either; None when neither is among the likeliest.

    Of a word that is not listed we know that it is no likelier than the least likely listed one, nor than what
    the listed ones leave over: that much it is given. Figures that are no log-probabilities are left out.
    """
    listed = {token.text: token.log_probability} | dict(token.alternatives)
    known = {text: log for text, log in listed.items() if -math.inf < log <= 0}
    yes, no = (
        _log_sum(log for text, log in known.items() if _opens(text, w)) for w in ("YES", "NO")
    )
    if yes is None and no is None:
        return None
    floor = min(*known.values(), _left_over(known.values()))
    ahead = (floor if yes is None else yes) - (floor if no is None else no)
    return 1 / (1 + math.exp(-ahead)) if ahead > 0 else math.exp(ahead) / (1 + math.exp(ahead))


def _opens(text: str, word: str) -> bool:
    """Whether a token may be the word or its beginning, however it is spaced and spelt."""
    letters = _LETTERS.search(text)
    return letters is not None and word.startswith(letters[0].upper())


def _log_sum(logs: Iterable[float]) -> float | None:
    terms = list(logs)
    if not terms:
        return None
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


def _left_over(logs: Iterable[float]) -> float:
    rest = 1 - sum(math.exp(log) for log in logs)
    return math.log(max(rest, sys.float_info.epsilon))
