"""The real vLLM of the tests of models."""

from collections.abc import Iterator

import pytest

from tests import vllm_server


@pytest.fixture(scope="package")
def vllm() -> Iterator[vllm_server.Server]:
    """A server of the 135M model, started for the first test that asks."""
    if vllm_server.MISSING:
        pytest.skip(vllm_server.MISSING)
    with vllm_server.running() as server:
        yield server
