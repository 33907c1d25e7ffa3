"""A repository that a real git server serves, and checkouts to fetch it into."""

import pytest

from app.github.endpoints import endpoints
from tests.worker.git_server import GitServer, Upstream
from worker.checkout import Checkouts


@pytest.fixture
def upstream(tmp_path):
    return Upstream(tmp_path / "served" / "octo" / "repo.git")


@pytest.fixture
def server(tmp_path, upstream):
    with GitServer(tmp_path / "served").running() as running:
        yield running


@pytest.fixture
def checkouts(tmp_path, server):
    return Checkouts(tmp_path / "data", endpoints(server.url))
