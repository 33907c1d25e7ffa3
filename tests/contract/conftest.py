"""One contract for all tests of this folder: loading is quick, compiling adds up."""

import pytest

from tests.github.contract import Contract


@pytest.fixture(scope="session")
def contract():
    return Contract.load()
