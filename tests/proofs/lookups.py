"""What `search_tool` answers for names, and what of a patch's definitions is in the answers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model.agents.tools import search_tool
from model.agents.tools.toolbox import ToolContext
from model.codegraph.entities import EntityKind
from tests.proofs.gold import Entity

_HEADING = re.compile(r"^## (.+), lines \d+-\d+: (\S+)(?: \(continued\))?$", re.MULTILINE)
Place = tuple[str, str]
"""A path and the dotted name of a definition in it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One look-up that found something."""

    definitions: tuple[Place, ...]
    first_page: frozenset[Place]
    """What a reader sees who asks for no further page."""


@dataclass(frozen=True, slots=True)
class Found:
    """Of one issue: how many of its definitions were answered, and how much else."""

    names: int
    lookups: int
    """That were answered; each name is asked for as function, class and method."""
    hits: int
    """Of these, with one of the patch's definitions."""
    definitions: int
    """In all answers together, each once."""
    named: int
    """Of the patch's definitions, by their own name."""
    first_page: int
    """The same, on the first page of an answer."""
    shown: int
    """By their own name, or in the source of a class or function around them."""
    files: int
    """Of the patch's files, those with some definition in an answer."""


def answers(desk: ToolContext, names: Iterable[str]) -> list[Answer]:
    """Of every name that is the name of something; by the tool itself, which names what it found in headings."""
    found = []
    for name in names:
        for construct in EntityKind:
            if entities := desk.snapshot.find(construct, name):
                text = search_tool.search(desk, construct.value, name).text
                places = tuple((one.path, one.qualified_name) for one in entities)
                found.append(Answer(places, frozenset(_HEADING.findall(text)) & set(places)))
    return found


def count_found(
    names: Sequence[str], answered: Sequence[Answer], wanted: Sequence[Entity]
) -> Found:
    """What the answers hold of the wanted definitions (pure)."""
    own = {(one.path, one.qualified_name) for one in wanted}
    everything = {place for answer in answered for place in answer.definitions}
    first = {place for answer in answered for place in answer.first_page}
    return Found(
        names=len(names),
        lookups=len(answered),
        hits=sum(not own.isdisjoint(answer.definitions) for answer in answered),
        definitions=len(everything),
        named=len(own & everything),
        first_page=len(own & first),
        shown=sum(any(one.is_within(*place) for place in everything) for one in wanted),
        files=len({one.path for one in wanted} & {path for path, _ in everything}),
    )


def unreachable(desk: ToolContext, wanted: Sequence[Entity]) -> list[Entity]:
    """Those that the tool does not find even by their own name and construct: its defects."""
    return [
        one
        for one in wanted
        if (one.path, one.qualified_name)
        not in {
            (other.path, other.qualified_name)
            for other in desk.snapshot.find(one.construct, one.name)
        }
    ]
