"""What a reasoning model thinks aloud before it answers, between `<think>` and `</think>` (pure).

Some chat templates open the thought in the prompt, so that a reply only ends it. Code about language models holds these
marks as well: where nothing opened a thought, only a mark alone on its line ends one.
"""

import re

_OPENS, _ENDS = "<think>", "</think>"
_ENDS_ALONE = re.compile(rf"^[ \t]*{_ENDS}[ \t]*\r?$", re.MULTILINE)


def answer(reply: str) -> str | None:
    """What follows the thought, or the whole reply where there is none; None when the thought never ends."""
    if reply.lstrip().startswith(_OPENS):
        _, ended, rest = reply.partition(_ENDS)
        return rest if ended else None
    ended_alone = _ENDS_ALONE.search(reply)
    return reply[ended_alone.end() :] if ended_alone else reply
