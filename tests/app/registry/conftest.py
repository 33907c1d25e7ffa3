"""Two trained models that are registered, two servers, and one that is down."""

import shutil
from collections.abc import Iterator

import pytest

from app.db.session import transaction
from app.registry import registration
from model.adapters.adapter_server import Replica
from tests import vllm_server
from tests.app.registry.measured_runs import (
    forget_adapter,
    write_finished_run,
    write_measurement,
)
from tests.builders.models import tiny_adapters
from tests.model.chat_server import DEAD_URL


@pytest.fixture(scope="package")
def vllm() -> Iterator[vllm_server.Server]:
    """A server of the tiny model, started for the first test that asks."""
    with tiny_adapters.serve_tiny_model() as server:
        yield server


@pytest.fixture(scope="package")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [write_finished_run(folder / str(seed), seed=seed) for seed in range(2)]


@pytest.fixture
def run(tmp_path, runs):
    """A copy of the first run, which may be changed."""
    return shutil.copytree(runs[0], tmp_path / "run")


@pytest.fixture
def names(database, runs):
    """The first was measured beside the base, the second beside the first."""
    with transaction(database) as connection:
        first = registration.register_run(connection, runs[0], tiny_adapters.BASE)
        return [
            first,
            registration.register_run(
                connection, write_measurement(runs[1], first), tiny_adapters.BASE
            ),
        ]


@pytest.fixture
def servers(vllm, names):
    """One server by two addresses; afterwards it serves its base alone."""
    both = (Replica(vllm.url), Replica(vllm.url.replace("127.0.0.1", "localhost")))
    yield both
    for name in names:
        forget_adapter(both, name)


@pytest.fixture
def dead():
    return Replica(DEAD_URL)
