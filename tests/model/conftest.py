"""Fixtures for tests of the model package."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def large_data() -> Path:
    """The folder of the large labelled data; its tests are skipped where there is none."""
    folder = os.environ.get("R4P_DATA")
    if not folder:
        pytest.skip("R4P_DATA is not set to the folder of the large data")
    return Path(folder)
