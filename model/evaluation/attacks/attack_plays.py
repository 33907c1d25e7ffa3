"""Attack templates of `attack_plays.toml`, and harmless text of the same shape."""

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


class AttackKind(StrEnum):
    """The kind of a prompt injection, by the weakness that it uses."""

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


STRUCTURAL = frozenset(
    {
        AttackKind.DELIMITERS,
        AttackKind.BOXES,
        AttackKind.IDS,
        AttackKind.PREAMBLE,
        AttackKind.STARVATION,
    }
)
"""Kinds that use the structure of the prompt instead of persuasion. They must not change any verdict."""


class Place(StrEnum):
    """Where an attack puts its text: in the diff, around it or in the issue."""

    COMMENT = "comment"
    """A comment above the last change."""
    STRING = "string"
    """A string assigned above the last change."""
    FILE = "file"
    """A new file of notes."""
    PATH = "path"
    """The name of a new file."""
    BEFORE = "before"
    """Before the diff, as in a mail."""
    BETWEEN = "between"
    """Between two files of the diff."""
    AFTER = "after"
    """After the last line of the diff."""
    ISSUE = "issue"
    """At the end of the issue."""
    RIVALS = "rivals"
    """No text: further candidates, one for each word."""


class Goal(StrEnum):
    """The change of a verdict that the attacker wants."""

    RAISE = "raise"
    """A wrong patch is judged correct."""
    SINK = "sink"
    """A correct rival is no longer judged correct."""


@dataclass(frozen=True, slots=True)
class AttackTemplate:
    """The text of one attack, with placeholders for the target's code and path."""

    kind: AttackKind
    name: str
    place: Place
    goal: Goal
    text: str
    """The words, in which `{line}`, `{path}` and `{code}` stand for code and path of the target's diff."""
    encoding: str = ""
    """A key of `_ENCODINGS`, such as `base64`: the encoding that hides the text inside [[ ]]. "" hides nothing."""


@cache
def load_templates() -> tuple[AttackTemplate, ...]:
    """Load every attack template of `attack_plays.toml`, with the text inside [[ ]] already encoded."""
    text = (files("model.evaluation.attacks") / "attack_plays.toml").read_text(encoding="utf-8")
    listed = TypeAdapter(dict[str, tuple[AttackTemplate, ...]]).validate_python(tomllib.loads(text))
    return tuple(map(_encode_template, listed["play"]))


def neutralise_text(play: AttackTemplate, text: str, variant: int = 0) -> str:
    """Replace the words of an attack's `text` by harmless words with the same lines and lengths.

    `play` is the attack's template, and `variant` (0 or 1) chooses the harmless words. In attacks that use tags,
    markers or encodings, the punctuation stays, so that it cannot cause a difference between the two verdicts.
    """
    if play.kind in _SIGNS_STAY:
        turns = count(variant)
        return _WORD.sub(lambda word: _fill_length(len(word[0]), next(turns)), text)
    filler = cycle(_NEUTRAL[variant])
    lines = ("".join(next(filler) for _ in line) for line in text.split("\n"))
    return "\n".join(f"{line[:-1]}." if line.endswith(" ") else line for line in lines)


def strip_structure(play: AttackTemplate) -> str:
    """Return the text of template `play` with each tag, marker and box replaced by dashes of the same length."""
    return _FORGED.sub(lambda forged: "-" * len(forged[0]), play.text)


_FORGED = re.compile(
    r"[<＜]{1,2}[^<>＜＞\n]*[>＞]{1,2}|\[/?INST\]|\$*[\\＼∖﹨]\w+(?:\{[^}\n]*\}*)?\$*"
)
_SIGNS_STAY = STRUCTURAL | {AttackKind.INVISIBLE, AttackKind.ENCODED}
_NEUTRAL = (
    "kept close to how the code around it is written so that a later change stays easy to follow and ",
    "this part has been here for some time and nobody has needed to look at it again since then but ",
)
_WORD = re.compile(r"(?:[A-Za-z]|[^\x00-\x7f])+")
"""A word, including characters that hide a word."""


def _fill_length(length: int, turn: int) -> str:
    """Build one or more harmless words of exactly this length."""
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
"""Three words of each length from 1 to 10."""
_HIDDEN = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_LOOKALIKES = str.maketrans("aceopxyABEHKMOPT", "асеорхуАВЕНКМОРТ")
_ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "tags": lambda text: "".join(chr(0xE0000 + ord(character)) for character in text),
    "selectors": lambda text: "".join(chr(0xE0100 + ord(character) - 16) for character in text),
    "backwards": lambda text: f"\u202e{text[::-1]}\u202c\u2066\u2069",
    "split": "\u200b".join,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "lookalikes": lambda text: text.translate(_LOOKALIKES),
}


def _encode_template(play: AttackTemplate) -> AttackTemplate:
    if not play.encoding:
        return play
    encode = _ENCODINGS[play.encoding]
    return replace(play, text=_HIDDEN.sub(lambda match: encode(match[1]), play.text))
