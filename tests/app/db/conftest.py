"""A database without a table."""

import pytest


@pytest.fixture
def empty_url(services):
    url = services.embedded.create_database("empty")
    yield url
    services.embedded.drop_database("empty")
