"""A local server that answers as told, and a connection to it."""

import pytest

from tests.app.github.local_github import LocalGitHub, connected


@pytest.fixture
def server():
    with LocalGitHub().running() as running:
        yield running


@pytest.fixture
def github(server):
    with connected(server.url) as connection:
        yield connection
