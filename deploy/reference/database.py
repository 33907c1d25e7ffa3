"""Describe the database's tables, from the SQLAlchemy tables that migrations are compared with."""

from collections.abc import Iterator, Mapping
from typing import Final

from sqlalchemy import Column, Table

from app.db.tables.schema import metadata
from deploy.reference.column_meanings import get_meaning
from deploy.reference.markdown import build_table

WITHOUT_COMMENT: Final[Mapping[str, str]] = {
    "installations": "installations of the App",
    "repositories": "repositories of the installations, with their settings",
    "pull_requests": "pull requests that belong to a group",
    "group_members": "which pull request belongs to which issue, and how it is linked",
    "evaluation_candidates": "the candidates of an evaluation, with score, probability and verdict",
    "ignored_deliveries": "how many deliveries were ignored, by reason",
}
"""Tables that the schema does not explain."""

TYPES: Final[Mapping[str, str]] = {
    "BIGINT": "integer", "INTEGER": "integer", "TEXT": "text", "BOOLEAN": "boolean", "JSONB": "JSON", "FLOAT": "number",
    "DATETIME": "time", "DATE": "date", "BLOB": "bytes",
}  # fmt: skip
"""SQL types in plain words; any other type stands as SQLAlchemy prints it."""


def describe_tables() -> Iterator[str]:
    """A section for each table, in the order of their first definition."""
    for table in metadata.tables.values():
        yield f"## `{table.name}`\n"
        yield f"Holds {table.comment or WITHOUT_COMMENT[table.name]}.\n"
        rows = ((f"`{c.name}`", _type(c), _describe_column(table, c)) for c in table.columns)
        yield build_table(("column", "type", "meaning"), rows)


def _type(column: Column[object]) -> str:
    name = TYPES.get(str(column.type), str(column.type).lower())
    return f"{name} or null" if column.nullable else name


def _describe_column(table: Table, column: Column[object]) -> str:
    """The column's comment, then its key or the row that it names; else the meaning of its name."""
    key = "the table's key" if column.primary_key and len(table.primary_key) == 1 else ""
    named = ", ".join(f"names a row of `{k.column.table.name}`" for k in column.foreign_keys)
    meaning = "; ".join(filter(None, (column.comment, key, named)))
    return meaning or get_meaning(table.name, column.name)
