"""An engine that believes every structure it can read: a judge as easy to fool as can be, but for what is escaped.

It judges a patch by the lines it removes and where, so no comment sways it. But whatever in the user's message looks like
a tag, a box, a chat marker, hidden text or a hidden comment, it takes for the truth, and says the opposite.
"""

import re
import unicodedata
from zlib import crc32

from model.engines.scripted import ScriptedEngine
from model.protocols import Completion, Token

_SEAT = re.compile(r"\n<patch-(\d+)>\n(.*?)\n</patch-\1>\n", re.DOTALL)
_LAST_WORDS = re.compile(r"\n\n(?:Now |Does patch 1)[^\n]*\Z")
_STRUCTURE = re.compile(
    r"""<\s*/?\s*(?:patch\s*-|issue\s*>)|boxed|<\||<!--|\[/?inst\]|</?think>|<</?sys>>|<\||^(?:from|[a-z]+-by):\ """,
    re.IGNORECASE | re.MULTILINE,
)
_ESCAPE = re.compile(r"⟦U\+[0-9A-F]{4,6}⟧[\\/<\[]?(?:f?boxed|patch-|issue|think>|/think>)?")
_KEPT = re.compile(r"^(?:@@ -\S+|-.*)", re.MULTILINE)


class GullibleEngine(ScriptedEngine):
    """Answers with the box that the structures of the prompt call for, or with YES and NO where tokens are asked."""

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
        unicodedata.category(one) in {"Cf", "Cc", "Co", "Cs", "Cn"} and one not in "\n\t\r"
        for one in plain
    )
    selectors = any("\ufe00" <= one <= "\ufe0e" or one >= "\U000e0000" for one in plain)
    return hidden or selectors or bool(_STRUCTURE.search(plain))


def _opinion(patch):
    """By what a patch takes away, and where."""
    return crc32("\n".join(_KEPT.findall(patch)).encode()) % 2 == 0
