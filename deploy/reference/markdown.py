"""Markdown of the reference: tables, and texts on one line (pure)."""

from collections.abc import Iterable


def join_lines(text: str | None) -> str:
    """A text on one line, with single blanks."""
    return " ".join((text or "").split())


def build_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; a pipe in a cell is escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
