"""Fixtures for every test: real services, started once when the first test asks for them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings
from sqlalchemy import Engine

from app.db.session import engine
from app.sandbox import Sandbox
from app.walls import trouble
from tests import services as running_services
from tests import vllm_server
from tests.crashes import EveryWay
from tests.services import Services

# how long one example takes is a matter of what else the machine does
settings.register_profile("r4p", deadline=None)
settings.load_profile("r4p")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who uses the fixture `vllm` is marked `vllm`; where there is no vLLM, none of the marked ones runs."""
    for item in items:
        if "vllm" in getattr(item, "fixturenames", ()):
            item.add_marker("vllm")
        if vllm_server.MISSING and item.get_closest_marker("vllm"):
            item.add_marker(pytest.mark.skip(vllm_server.MISSING))


@pytest.fixture(scope="session")
def services() -> Iterator[Services]:
    """PostgreSQL and Valkey for the whole session."""
    with running_services.running() as servers:
        yield servers


@pytest.fixture
def database_url(services) -> str:
    """An empty database at head; a test that changes its schema makes one of its own."""
    return services.clean_database()


@pytest.fixture
def database(database_url) -> Iterator[Engine]:
    """An engine on an empty database at head."""
    pooled = engine(database_url)
    yield pooled
    pooled.dispose()


@pytest.fixture
def broker(services) -> Iterator[redis.Redis]:
    """A client of the session's broker, emptied for this test."""
    with services.broker() as client:
        yield client


@pytest.fixture
def twice(services, database) -> EveryWay:
    """`twice(handler, arrange, observe)`: twice, and after a crash at each commit."""
    return EveryWay(services, database)


@pytest.fixture(scope="session")
def large_data() -> Path:
    """The folder of the large labelled data; its tests are skipped where there is none."""
    folder = os.environ.get("R4P_DATA")
    if not folder:
        pytest.skip("R4P_DATA is not set to the folder of the large data")
    return Path(folder)


@pytest.fixture(scope="session")
def bubblewrap() -> None:
    """Real walls, or a skipped test where this machine makes none; what else keeps an agent from starting is a failure."""
    bare = ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]
    if shutil.which("bwrap") is None or subprocess.run(["bwrap", *bare], check=False).returncode:
        pytest.skip(trouble(Sandbox.BUBBLEWRAP) or "bubblewrap does not work here")
    assert trouble(Sandbox.BUBBLEWRAP) is None
