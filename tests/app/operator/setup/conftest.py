"""A person before the setup's pages, and a stand-in for GitHub."""

import pytest

from app.operator.setup.setup_pages import SetupPages
from tests.app.operator.setup.setup_site import Wizard, browse
from tests.github.stand_in import StandIn


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("github")) as standin:
        yield standin


@pytest.fixture
def wizard(tmp_path, github):
    pages = SetupPages(tmp_path / "data")
    with browse(pages) as browser:
        yield Wizard(pages, browser, github)
