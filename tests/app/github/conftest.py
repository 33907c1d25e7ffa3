"""A local server that answers as told, the stand-in, and connections to them."""

import pytest

from tests.builders.github.github_scene import open_scene
from tests.builders.github.local_github import LocalGitHub, connect
from tests.github.stand_in import StandIn


@pytest.fixture
def server():
    with LocalGitHub().running() as running:
        yield running


@pytest.fixture
def github(server):
    with connect(server.url) as connection:
        yield connection


@pytest.fixture(scope="package")
def standin(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("github")) as running:
        yield running


@pytest.fixture(scope="package")
def app(standin):
    return standin.register_app()


@pytest.fixture
def scene(standin, app):
    with open_scene(standin, app) as scene:
        yield scene
