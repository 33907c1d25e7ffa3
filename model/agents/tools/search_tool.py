"""`search_tool`: every function, class or method of a name, with its source, as the tree was at first."""

import re
from collections.abc import Sequence
from typing import Final

from model.agents.tools.paging import Block, pages
from model.agents.tools.tool_context import Desk, Observation
from model.codegraph.entities import Construct, Entity
from model.errors import WorkspaceError
from model.protocols import Tool

_NO_NAME: Final = re.compile(r"[\s,;()\[\]]")
"""What a list of names holds, or a call."""
_WORDS: Final = {
    Construct.FUNCTION: ("function", "functions"),
    Construct.CLASS: ("class", "classes"),
    Construct.CLASS_METHOD: ("method", "methods"),
}

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
                "enum": [one.value for one in Construct],
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


def search(desk: Desk, construct: str, entity: str, page: int = 1) -> Observation:
    """All definitions of that simple name, or names that are like it."""
    kind = Construct(construct)
    found = _named(desk, kind, entity)
    if not found:
        return Observation(_nothing(desk, kind, entity), ok=False)
    shown = pages([_block(desk, one) for one in found], desk.page_characters)
    if not 1 <= page <= len(shown):
        return Observation(
            f"There is no page {page}: the answer has {_count(len(shown), ('page', 'pages'))}.",
            ok=False,
        )
    return Observation(
        f"{_count(len(found), _WORDS[kind])} named {_simple(entity)}:\n\n"
        f"{shown[page - 1]}{_way_on(kind, entity, page, len(shown))}"
    )


def _named(desk: Desk, kind: Construct, entity: str) -> Sequence[Entity]:
    """By simple name; of a dotted one by its last part, and only those below the rest if there are any."""
    found = desk.snapshot.find(kind, _simple(entity))
    exact = [one for one in found if f".{one.qualified_name}".endswith(f".{entity.strip()}")]
    return exact or found


def _simple(entity: str) -> str:
    return entity.strip().rpartition(".")[2]


def _block(desk: Desk, entity: Entity) -> Block:
    heading = (
        f"## {entity.path}, lines {entity.start_line}-{entity.end_line}: {entity.qualified_name}"
    )
    try:
        content = desk.workspace.original(entity.path)[entity.start_byte : entity.end_byte]
        return Block(heading, content.decode(errors="surrogateescape"))
    except WorkspaceError as error:
        return Block(heading, f"(its source can't be shown: {error})")


def _way_on(kind: Construct, entity: str, page: int, count: int) -> str:
    if page == count:
        return f"\n\n(page {page} of {count}, the last)" if count > 1 else ""
    call = f'search_tool(construct="{kind.value}", entity="{entity}", page={page + 1})'
    return f"\n\n(page {page} of {count}; for the next one call {call})"


def _nothing(desk: Desk, kind: Construct, entity: str) -> str:
    name = _simple(entity)
    said = [f"No {_WORDS[kind][0]} is named {name}."]
    elsewhere = ((other, desk.snapshot.find(other, name)) for other in Construct)
    said += [
        f'{_count(len(found), _WORDS[other])} of this name can be found by construct="{other.value}".'
        for other, found in elsewhere
        if found
    ]
    if near := desk.snapshot.near(kind, name):
        said.append(f"Names like it: {', '.join(near)}.")
    if _NO_NAME.search(entity.strip()):
        said.append("Ask for one bare name at a time.")
    if len(said) == 1:
        said.append("Look for a name that the issue or other code mentions.")
    return " ".join(said)


def _count(number: int, words: tuple[str, str]) -> str:
    return f"{number} {words[number != 1]}"
