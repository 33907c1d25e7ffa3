"""The real vLLM of the tests of training."""

from collections.abc import Iterator

import pytest

from tests import vllm_server
from tests.training import adapted


@pytest.fixture(scope="package")
def vllm() -> Iterator[vllm_server.Server]:
    """A server of the tiny model, started for the first test that asks."""
    with adapted.served() as server:
        yield server
