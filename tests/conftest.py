"""Fixtures for every test: real services, started once when the first test of a worker asks for them."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import settings
from sqlalchemy import Engine

from app.db.session import create_database_engine
from app.dispatch import Doorbell
from app.sandbox import check_sandbox
from model.sandbox.bubblewrap import ChangedBubblewrap, NoBubblewrap
from model.sandbox.bubblewrap import find as find_bubblewrap
from tests import browser, vllm_server
from tests import services as running_services
from tests.crashes import EveryWay
from tests.services import Services

PROOF_SECONDS = 600
# The first import of torch reads it. Each core has a worker of pytest-xdist, so more threads only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# TRL would report each trainer to the model hub, from a thread of its own.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# Each web process of a test takes a free port for its metrics.
os.environ.setdefault("R4P_OPS_PORT", "0")
# how long one example takes is a matter of what else the machine does
settings.register_profile("r4p", deadline=None)
settings.load_profile("r4p")


def _no_large_data() -> str:
    return (
        "" if os.environ.get("R4P_DATA") else "R4P_DATA is not set to the folder of the large data"
    )


def _no_walls() -> str | None:
    """Why bubblewrap starts nothing at all here. What else keeps an agent from starting, the fixture's test fails for."""
    try:
        program = find_bubblewrap()
    except ChangedBubblewrap:
        return None
    except NoBubblewrap as error:
        return str(error)
    bare = [program, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(bare, capture_output=True, text=True, check=False)
    return f"{program} starts nothing here: {done.stderr.strip()}" if done.returncode else None


_MISSING: Mapping[str, Callable[[], str | None]] = {
    "vllm": lambda: vllm_server.MISSING,
    "bubblewrap": _no_walls,
    "large_data": _no_large_data,
}
"""What not every machine has, by the fixture that tests ask for it with: why it is not here, if it is not."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a real vLLM; skip what this machine can't do, saying why."""
    os.environ.pop("COVERAGE_PROCESS_START", None)  # pytest is measured, its children are not
    for item in items:
        if _asks_for(item, "vllm"):
            for mark in ("vllm", "proof", pytest.mark.xdist_group("vllm")):  # one server at a time
                item.add_marker(mark)
        # A proof is minutes of work on a machine that has other things to do.
        if _asks_for(item, "proof") and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PROOF_SECONDS))
    for what, why_missing in _MISSING.items():
        wanting = [item for item in items if _asks_for(item, what)]
        if wanting and (why := why_missing()):
            for item in wanting:
                item.add_marker(pytest.mark.skip(why))


def _asks_for(item: pytest.Item, what: str) -> bool:
    return what in getattr(item, "fixturenames", ()) or item.get_closest_marker(what) is not None


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
    pooled = create_database_engine(database_url)
    yield pooled
    pooled.dispose()


@pytest.fixture
def broker(services) -> Iterator[redis.Redis]:
    """A client of the session's broker, emptied for this test."""
    with services.broker() as client:
        yield client


@pytest.fixture
def doorbell(services, broker) -> Iterator[Doorbell]:
    """A doorbell at the session's broker."""
    bell = Doorbell(services.redis_url)
    yield bell
    bell.close()


@pytest.fixture(
    params=["one crash", pytest.param("a crash at each commit", marks=pytest.mark.proof)]
)
def twice(request, services, database) -> EveryWay:
    """`twice(handler, arrange, observe)`: twice, and after a crash; as a proof, a crash at each commit."""
    return EveryWay(services, database, at_each_commit=request.param == "a crash at each commit")


@pytest.fixture(scope="session")
def large_data() -> Path:
    """The folder of the large labelled data."""
    return Path(os.environ["R4P_DATA"])


@pytest.fixture
def chromium() -> Iterator[Any]:
    """A headless Chromium under Playwright."""
    for name in ("playwright", "axe_playwright_python"):
        pytest.importorskip(name, reason=f"{name} is not installed: make install")
    if browser.CHROMIUM is None:
        pytest.skip(browser.NO_CHROMIUM)
    with browser.open_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def bubblewrap() -> None:
    """Real walls; what else keeps an agent from starting is a failure."""
    assert check_sandbox() is None
