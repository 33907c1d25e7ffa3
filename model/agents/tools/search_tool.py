"""`search_tool` shows every function, class or method of a name, as the tree was before any edit."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

from model.agents.tools.tool_context import Observation, ToolContext
from model.codegraph.entities import Entity, EntityKind
from model.errors import WorkspaceError
from model.protocols import Tool

_NO_NAME: Final = re.compile(r"[\s,;()\[\]]")
"""Characters of a list of names or of a call, which a single name never has."""
_WORDS: Final = {
    EntityKind.FUNCTION: ("function", "functions"),
    EntityKind.CLASS: ("class", "classes"),
    EntityKind.CLASS_METHOD: ("method", "methods"),
}

_LINE_CHARACTERS: Final = 2_000
"""Longer lines are data or generated, so the rest of them is cut."""

TOOL: Final = Tool(
    name="search_tool",
    description=(
        "Look up a function, a class or a method of a class by its bare name, and get path, lines and source of each "
        "definition with this name, wherever in the repository it is. The answer shows the code as it was when the "
        "work began: what edit_tool has changed since is not in it. A long answer comes in pages."
    ),
    parameters={
        "type": "object",
        "properties": {
            "construct": {
                "type": "string",
                "enum": [kind.value for kind in EntityKind],
                "description": "Which kind of definition to look for; a method is a class_method.",
            },
            "entity": {
                "type": "string",
                "description": "Its bare name, without module or class: `parse_date`, `Parser`, `as_sql`.",
            },
            "page": {
                "type": "integer",
                "minimum": 1,
                "description": "Which page of a long answer to show; the first one when left out.",
            },
        },
        "required": ["construct", "entity"],
    },
)


@dataclass(frozen=True, slots=True)
class PageSection:
    """A text under a heading, to be shown on one or more pages. A page that continues it repeats the heading."""

    heading: str
    text: str


def search(context: ToolContext, construct: str, entity: str, page: int = 1) -> Observation:
    """Return the source of all definitions called `entity` to an agent, or names that are similar.

    `construct` is their kind, a value of EntityKind. `page` selects a page of a long answer, counted from 1.
    """
    kind = EntityKind(construct)
    entities = _find_named(context, kind, entity)
    if not entities:
        return Observation(_describe_nothing(context, kind, entity), ok=False)
    shown = split_into_pages(
        [build_section(context, definition) for definition in entities], context.page_characters
    )
    if not 1 <= page <= len(shown):
        return Observation(
            f"There is no page {page}: the answer has {_format_count(len(shown), ('page', 'pages'))}.",
            ok=False,
        )
    return Observation(
        f"{_format_count(len(entities), _WORDS[kind])} named {_get_simple_name(entity)}:\n\n"
        f"{shown[page - 1]}{_describe_next_page(kind, entity, page, len(shown))}"
    )


def _find_named(context: ToolContext, kind: EntityKind, entity: str) -> Sequence[Entity]:
    """Find definitions by simple name. For a dotted name, prefer those with the full dotted name."""
    entities = context.snapshot.find(kind, _get_simple_name(entity))
    exact = [
        candidate
        for candidate in entities
        if f".{candidate.qualified_name}".endswith(f".{entity.strip()}")
    ]
    return exact or entities


def _get_simple_name(entity: str) -> str:
    return entity.strip().rpartition(".")[2]


def build_section(context: ToolContext, entity: Entity) -> PageSection:
    """Return the source of a definition as it was before any edit, under a heading with its place."""
    heading = (
        f"## {entity.path}, lines {entity.start_line}-{entity.end_line}: {entity.qualified_name}"
    )
    try:
        content = context.workspace.read_original(entity.path)[entity.start_byte : entity.end_byte]
        return PageSection(heading, content.decode(errors="surrogateescape"))
    except WorkspaceError as error:
        return PageSection(heading, f"(its source cannot be shown: {error})")


def _describe_next_page(kind: EntityKind, entity: str, page: int, count: int) -> str:
    if page == count:
        return f"\n\n(page {page} of {count}, the last)" if count > 1 else ""
    call = f'search_tool(construct="{kind.value}", entity="{entity}", page={page + 1})'
    return f"\n\n(page {page} of {count}; for the next one call {call})"


def _describe_nothing(context: ToolContext, kind: EntityKind, entity: str) -> str:
    name = _get_simple_name(entity)
    sentences = [f"No {_WORDS[kind][0]} is named {name}."]
    elsewhere = ((construct, context.snapshot.find(construct, name)) for construct in EntityKind)
    sentences += [
        f'{_format_count(len(matches), _WORDS[construct])} of this name can be found by construct="{construct.value}".'
        for construct, matches in elsewhere
        if matches
    ]
    if near := context.snapshot.find_similar_names(kind, name):
        sentences.append(f"Names like it: {', '.join(near)}.")
    if _NO_NAME.search(entity.strip()):
        sentences.append("Ask for one bare name at a time.")
    if len(sentences) == 1:
        sentences.append("Look for a name that the issue or other code mentions.")
    return " ".join(sentences)


def _format_count(number: int, words: tuple[str, str]) -> str:
    return f"{number} {words[number != 1]}"


def split_into_pages(blocks: Sequence[PageSection], size: int) -> tuple[str, ...]:
    """Return the sections `blocks` as pages of text, each of about `size` characters and at least one line."""
    done: list[str] = []
    page: list[str] = []
    room = size
    for block in blocks:
        heading = block.heading
        for first, line in zip(
            chain([True], repeat(False)), _split_lines(block.text), strict=False
        ):
            wanted = len(line) + 1 + (len(heading) + 1) * first
            if page and wanted > room:
                done.append("\n".join(page))
                page, room = [], size
            if first or not page:
                page.append(heading if first else f"{heading} (continued)")
                room -= len(page[-1]) + 1
            page.append(line)
            room -= len(line) + 1
    return (*done, "\n".join(page))


def _split_lines(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").split("\n"):
        more = len(line) - _LINE_CHARACTERS
        yield line if more <= 0 else f"{line[:_LINE_CHARACTERS]}… ({more:,} more characters)"
