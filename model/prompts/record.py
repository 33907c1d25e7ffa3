"""The text of a trajectory in a prompt: the marks that divide it, and the rule that shortens it (pure).

`[step 3]`, `[call] NAME ARGUMENTS` and `[result]` begin a line. The text itself is untrusted, like a patch.
"""

import re
from bisect import bisect_left
from collections.abc import Callable

from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import cut_middle, escape_patch

KEPT_RESULTS = 5
"""The last results of tools stay whole for as long as possible: they led to the patch."""
_LEAST_ROOM = 64
"""Tokens. In fewer, a record would say nothing."""
_MAX_TOKEN_CHARACTERS = 16
"""A text of more characters per free token is cut before it is tokenised: megabytes would take longer than a verdict."""
_MARK = r"^\[(?:step \d+|call|result)\]"
_MARKS = re.compile(f"(?={_MARK})", re.MULTILINE)
_RESULT = re.compile(rf"^\[result\]\n(.*?)(?={_MARK}|\Z)", re.MULTILINE | re.DOTALL)
_LEFT_OUT = "(left out)\n"


def hide_marks(text: str) -> str:
    """Return a text whose lines cannot be taken for marks of a record: a blank precedes each that looks like one."""
    return _MARKS.sub(" ", text)


def fit_record(
    record: str, room: int, count_tokens: Callable[[str], int], tokens: SpecialTokens = None
) -> str:
    """Return a trajectory's text for a prompt: escaped, and shortened to at most `room` tokens.

    Training and judging shorten by this one rule, which is ours:

    1. Results of tools are left out, the longest first, except the last five. Thoughts and calls stay, because verifiers
       rely on thoughts (R2E-Gym, section 4.2).
    2. If that is not enough, characters in the middle of the text are left out.

    `count_tokens` is that of the model that reads the prompt, and `tokens` are its special tokens. The result is "" for a
    blank text, or if fewer than 64 tokens are free.
    """
    if room < _LEAST_ROOM or not record.strip():
        return ""
    half = room * _MAX_TOKEN_CHARACTERS // 2
    text = cut_middle(record.strip("\n"), half, half)

    def fits(shorter: str) -> bool:
        return count_tokens(escape_patch(shorter, tokens).text) <= room

    spans = _list_spare_results(text)
    dropped = _find_least(len(spans), lambda count: fits(_drop(text, spans[:count])))
    text = _drop(text, spans[:dropped])
    cut = _find_least(len(text) - 1, lambda count: fits(_cut(text, count)))
    return escape_patch(_cut(text, cut), tokens).text


def _list_spare_results(text: str) -> list[tuple[int, int]]:
    """Return where the results that may be left out start and end, the longest first."""
    spans = [match.span(1) for match in _RESULT.finditer(text)][:-KEPT_RESULTS]
    spare = [span for span in spans if span[1] - span[0] > len(_LEFT_OUT)]
    return sorted(spare, key=lambda span: (span[0] - span[1], span[0]))


def _drop(text: str, spans: list[tuple[int, int]]) -> str:
    # From the end, so that earlier places stay valid.
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + _LEFT_OUT + text[end:]
    return text


def _cut(text: str, count: int) -> str:
    tail = (len(text) - count) // 2
    return cut_middle(text, len(text) - count - tail, max(tail, 1)) if count else text


def _find_least(most: int, is_enough: Callable[[int], bool]) -> int:
    """Return a smallest number from 0 to `most` that is enough, by bisection; `most` if none is."""
    if most <= 0 or is_enough(0):
        return 0
    return bisect_left(range(1, most), True, key=is_enough) + 1
