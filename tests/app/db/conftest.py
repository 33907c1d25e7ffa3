"""A database without a table, and one with the roles of the processes."""

import pytest

from tests.app.db.process_scene import open_scene


@pytest.fixture
def empty_url(services):
    url = services.embedded.create_database("empty")
    yield url
    services.embedded.drop_database("empty")


@pytest.fixture(scope="module")
def scene(services):
    """The tests only try to change something, so they share it."""
    with open_scene(services) as scene:
        yield scene
