"""This module computes P(YES) from the log-probabilities of a reply, after it finds the answer's token (pure)."""

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from model.protocols import Token

TOP_LOGPROBS = 20
"""The number of likeliest tokens to ask for: the default maximum of vLLM and OpenAI."""

_CAPITALS = re.compile(r"(?<![A-Za-z])(?:YES|NO)(?![A-Za-z])")
_OPENING = re.compile(r"[^A-Za-z]*?(?=(?:yes|no)(?![A-Za-z]))", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Za-z]+")


def locate_verdict(tokens: Sequence[Token]) -> int | None:
    """Return the index of the token that begins the answer: the last YES or NO in capitals, else a leading yes or no.

    None means that the reply has neither.
    """
    text = "".join(token.text for token in tokens)
    words = [match.start() for match in _CAPITALS.finditer(text)]
    opening = _OPENING.match(text)
    start = words[-1] if words else opening and opening.end()
    if start is None:
        return None
    # A word may be split over tokens, so the search runs on the text and maps back to a token.
    starts = [0, *accumulate(len(token.text) for token in tokens)]
    return bisect_right(starts, start) - 1


def compute_yes_probability(token: Token) -> float | None:
    """Compute P(YES) / (P(YES) + P(NO)) at a token, summed over all spellings; None when neither word is listed.

    An unlisted word gets an upper bound: the smaller of the least likely listed token and the probability that the
    listed tokens leave over. Values that are no log-probabilities are ignored.
    """
    listed = {token.text: token.log_probability} | dict(token.top_logprobs)
    valid = {text: log for text, log in listed.items() if -math.inf < log <= 0}
    yes, no = (
        _log_sum(log for text, log in valid.items() if _is_beginning(text, word))
        for word in ("YES", "NO")
    )
    if yes is None and no is None:
        return None
    # An unlisted word is at most as likely as the least listed token and as the remaining mass.
    floor = min(*valid.values(), _compute_left_over(valid.values()))
    ahead = (floor if yes is None else yes) - (floor if no is None else no)
    # A logistic function whose exponent is never positive, so it cannot overflow.
    return 1 / (1 + math.exp(-ahead)) if ahead > 0 else math.exp(ahead) / (1 + math.exp(ahead))


def _is_beginning(text: str, word: str) -> bool:
    """Return whether a token may be the word or its beginning, in any spacing and case."""
    letters = _LETTERS.search(text)
    return letters is not None and word.startswith(letters[0].upper())


def _log_sum(logs: Iterable[float]) -> float | None:
    terms = list(logs)
    if not terms:
        return None
    # Log-sum-exp: the largest term is factored out against underflow.
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


def _compute_left_over(logs: Iterable[float]) -> float:
    rest = 1 - sum(math.exp(log) for log in logs)
    return math.log(max(rest, sys.float_info.epsilon))
