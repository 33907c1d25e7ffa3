"""The compose file hands every process the settings it needs."""

from pathlib import Path

import pytest
import yaml

from app.settings import IdentitySettings

COMPOSE = Path(__file__).parents[2] / "deploy" / "compose.yaml"
IDENTITY = {f"R4P_{name.upper()}" for name in IdentitySettings.model_fields}


@pytest.mark.parametrize("name", ["web", "worker-github"])
def test_who_reads_commands_and_links_is_told_who_we_are_and_where(name):
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    assert services[name]["environment"].keys() >= IDENTITY
