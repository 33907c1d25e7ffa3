"""docs/models.md says what the code does."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from app.learning.canary import CanaryLimits
from app.learning.gate_rules import Rules
from app.learning.model_serving import Alias
from model.adapters import adapter_probe
from training.commands.evaluate import CODES

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text()


@pytest.mark.parametrize("rules", [Rules, CanaryLimits])
def test_page_documents_every_rule_with_its_default(rules):
    documented = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE))
    assert {one.name: documented.get(one.name) for one in fields(rules)} == {
        one.name: str(one.default) for one in fields(rules)
    }


def test_page_has_exit_codes_aliases_and_tolerances_of_the_code():
    for outcome, code in CODES.items():
        assert re.search(rf"{code} {outcome}", PAGE)
    for alias in Alias:
        assert f"| {alias} |" in PAGE
    low, high = adapter_probe.EXPECTED_EFFECT
    assert f"within {adapter_probe.MAX_MEAN_DISTANCE} nats in the mean" in PAGE
    assert f"between {low} and {high} of the adapter's *effect*" in PAGE
