"""The real vLLM of the tests of training, and trainings that are the same wherever they run."""

from collections.abc import Iterator

import pytest
import torch

from tests import vllm_server
from tests.builders.models import tiny_adapters, tiny_model


@pytest.fixture(scope="package")
def vllm() -> Iterator[vllm_server.Server]:
    """A server of the tiny model, started for the first test that asks."""
    with tiny_adapters.serve_tiny_model() as server:
        yield server


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums in one order: several threads would round otherwise each time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny model of random weights."""
    return tiny_model.write_random_model(tmp_path_factory.mktemp("base"))
