"""The page about the database explains every column, and no column that is gone."""

import pytest

from app.db.tables.schema import metadata
from deploy.reference.column_meanings import BY_NAME, BY_TABLE, get_meaning
from deploy.reference.database import describe_tables

COLUMNS = [column for table in metadata.tables.values() for column in table.columns]


def test_every_column_has_a_meaning():
    rows = [line for section in describe_tables() for line in section.splitlines() if "|" in line]
    assert len(rows) > len(COLUMNS)
    assert [row for row in rows if row.replace(" ", "").endswith("||")] == []


def test_every_meaning_belongs_to_a_column():
    plain = [column for column in COLUMNS if not column.comment]
    assert BY_NAME.keys() <= {column.name for column in plain}
    assert BY_TABLE.keys() <= {f"{column.table.name}.{column.name}" for column in plain}


def test_meaning_for_one_table_comes_first():
    assert get_meaning("etags", "body") == "GitHub's stored response"
    assert get_meaning("groups", "body") == "text below the title"
    with pytest.raises(KeyError):
        get_meaning("groups", "gone")
