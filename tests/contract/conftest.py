"""One contract for all tests of this folder, because compiling its validators takes long."""

import pytest

from tests.github.contract import Contract


@pytest.fixture(scope="session")
def contract():
    return Contract.load()
