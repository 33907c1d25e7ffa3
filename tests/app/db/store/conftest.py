"""A database in which a group was judged and told, open for one test."""

import pytest

from app.db.session import transaction
from tests.builders.history.stored_verdict import settle


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        yield connection


@pytest.fixture
def group(connection):
    return settle(connection)
