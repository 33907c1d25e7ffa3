"""Separate a reasoning model's thought, between `<think>` and `</think>`, from its answer (pure).

Some chat templates open the thought in the prompt, so the reply only closes it. Code about language models also
contains these tags. So without an opening tag, a closing tag counts only when it stands alone on its line.
"""

import re

_OPENS, _ENDS = "<think>", "</think>"
_SOLUTION = "<solution>", "</solution>"
_ENDS_ALONE = re.compile(rf"^[ \t]*{_ENDS}[ \t]*\r?$", re.MULTILINE)


def strip_thought(reply: str) -> str | None:
    """Return a reply's text after the model's thought, or all of it without a thought; None for an endless thought."""
    if reply.lstrip().startswith(_OPENS):
        _, ended, rest = reply.partition(_ENDS)
        return rest if ended else None
    ended_alone = _ENDS_ALONE.search(reply)
    return reply[ended_alone.end() :] if ended_alone else reply


def extract_solution(reply: str) -> str | None:
    """Return the text between `<solution>` and `</solution>` after a reply's thought (SWE-RL, appendix D).

    Returns None unless each of the two tags stands there once, in this order.
    """
    answer = strip_thought(reply)
    if answer is None or any(answer.count(tag) != 1 for tag in _SOLUTION):
        return None
    opens, ends = map(answer.index, _SOLUTION)
    return answer[opens + len(_SOLUTION[0]) : ends] if opens < ends else None
