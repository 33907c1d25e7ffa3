"""Print the tree of ARCHITECTURE.md: one line a room, the first sentence of its docstring.

`python -m tests.architecture.tree` writes it between the two marks of the page.
"""

import ast
import re
from pathlib import Path

from tests.architecture.source import PACKAGES, ROOT, parse

PAGE = ROOT / "ARCHITECTURE.md"
_MARKS = re.compile(r"(<!-- tree -->\n```\n).*?(```\n<!-- /tree -->)", re.DOTALL)
_WIDTH = 20


def _describe(folder: Path) -> str:
    """The first sentence of a room's docstring."""
    docstring = ast.get_docstring(parse(folder / "__init__.py")) or ""
    return re.split(r"(?<=\.)\s", " ".join(docstring.split()))[0]


def _list_rooms(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def print_tree() -> str:
    """The packages and their rooms; rooms of rooms are named in the same line."""
    lines = []
    for package in PACKAGES:
        lines.append(f"{package + '/':<{_WIDTH}}{_describe(ROOT / package)}")
        for room in _list_rooms(ROOT / package):
            inner = " ".join(f"{path.name}/" for path in _list_rooms(room))
            tail = f" [{inner}]" if inner else ""
            lines.append(f"  {room.name + '/':<{_WIDTH - 2}}{_describe(room)}{tail}")
    return "\n".join(lines) + "\n"


def insert_tree(page: str) -> str:
    """The page with today's tree between its marks."""
    return _MARKS.sub(lambda match: match[1] + print_tree() + match[2], page)


if __name__ == "__main__":
    PAGE.write_text(insert_tree(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
