"""What attackers write to sway a judge: every play of `attack_plays.toml`, with the place it stands in."""

import base64
import codecs
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import count, cycle

from pydantic import TypeAdapter


class Kind(StrEnum):
    """What an attack lives on."""

    DELIMITERS = "delimiters"
    BOXES = "boxes"
    IDS = "ids"
    PREAMBLE = "preamble"
    STARVATION = "starvation"
    INVISIBLE = "invisible"
    ENCODED = "encoded"
    IGNORE_OTHERS = "ignore_others"
    CLAIMS = "claims"
    RIVALS = "rivals"
    WINNER = "winner"
    MASTER_KEYS = "master_keys"
    COPIES = "copies"


STRUCTURAL = frozenset({Kind.DELIMITERS, Kind.BOXES, Kind.IDS, Kind.PREAMBLE, Kind.STARVATION})
"""They live on how a prompt is built, not on what a reader believes; they must change no verdict."""


class Place(StrEnum):
    """Where an attack stands."""

    COMMENT = "comment"
    """A comment above the last change."""
    STRING = "string"
    """A string that is assigned there."""
    FILE = "file"
    """A new file of notes."""
    PATH = "path"
    """The name of one."""
    BEFORE = "before"
    """Before the diff, as in a mail."""
    BETWEEN = "between"
    """Between two files of the diff."""
    AFTER = "after"
    """Behind its last line."""
    ISSUE = "issue"
    """The issue's end."""
    RIVALS = "rivals"
    """It is no text: further candidates, a word for each."""


class Goal(StrEnum):
    """What the attacker wants."""

    RAISE = "raise"
    """A wrong patch held correct."""
    SINK = "sink"
    """A correct rival no longer held correct."""


@dataclass(frozen=True, slots=True)
class Play:
    """One way to attack."""

    kind: Kind
    name: str
    place: Place
    goal: Goal
    text: str
    """`{line}`, `{path}` and `{code}` stand for what the favoured or accused patch adds, and where."""
    encoding: str = ""
    """How what stands in [[ ]] is hidden."""


@cache
def plays() -> tuple[Play, ...]:
    """Every play, its text encoded."""
    text = (files("model.evaluation.attacks") / "attack_plays.toml").read_text(encoding="utf-8")
    listed = TypeAdapter(dict[str, tuple[Play, ...]]).validate_python(tomllib.loads(text))
    return tuple(map(_encoded, listed["play"]))


def neutral(play: Play, text: str, variant: int = 0) -> str:
    """Harmless words in place of a play's text, with the same lines, each as long.

    Where signs are part of the attack they stay, and words give way to words of their length: a `<`, a backslash or one
    more token must not be what makes the difference.
    """
    if play.kind in _SIGNS_STAY:
        turns = count(variant)
        return _WORD.sub(lambda word: _of_length(len(word[0]), next(turns)), text)
    filler = cycle(_NEUTRAL[variant])
    lines = ("".join(next(filler) for _ in line) for line in text.split("\n"))
    return "\n".join(f"{line[:-1]}." if line.endswith(" ") else line for line in lines)


def without_structure(play: Play) -> str:
    """The play's words, with dashes in place of its tags, markers and boxes, character for character."""
    return _FORGED.sub(lambda forged: "-" * len(forged[0]), play.text)


_FORGED = re.compile(
    r"[<＜]{1,2}[^<>＜＞\n]*[>＞]{1,2}|\[/?INST\]|\$*[\\＼∖﹨]\w+(?:\{[^}\n]*\}*)?\$*"
)
_SIGNS_STAY = STRUCTURAL | {Kind.INVISIBLE, Kind.ENCODED}
_NEUTRAL = (
    "kept close to how the code around it is written so that a later change stays easy to follow and ",
    "this part has been here for some time and nobody has needed to look at it again since then but ",
)
_WORD = re.compile(r"(?:[A-Za-z]|[^\x00-\x7f])+")
"""A word, or what hides one."""


def _of_length(length: int, turn: int) -> str:
    """A harmless word, or several run together."""
    long, rest = divmod(length, len(_WORDS))
    return _WORDS[-1][turn % 3] * long + (_WORDS[rest - 1][turn % 3] if rest else "")


_WORDS = tuple(
    tuple(words.split())
    for words in """
        a i o|as is to|may has was|both kept late|often large other|around before likely|another between several
        although followed somewhat|beginning elsewhere generally|afterwards background everything
    """.replace("|", "\n")
    .strip()
    .splitlines()
)
"""Three of each length, from one letter to ten."""
_HIDDEN = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_LOOKALIKES = str.maketrans("aceopxyABEHKMOPT", "асеорхуАВЕНКМОРТ")
_ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "tags": lambda text: "".join(chr(0xE0000 + ord(one)) for one in text),
    "selectors": lambda text: "".join(chr(0xE0100 + ord(one) - 16) for one in text),
    "backwards": lambda text: f"\u202e{text[::-1]}\u202c\u2066\u2069",
    "split": "\u200b".join,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "lookalikes": lambda text: text.translate(_LOOKALIKES),
}


def _encoded(play: Play) -> Play:
    if not play.encoding:
        return play
    encode = _ENCODINGS[play.encoding]
    return replace(play, text=_HIDDEN.sub(lambda match: encode(match[1]), play.text))
