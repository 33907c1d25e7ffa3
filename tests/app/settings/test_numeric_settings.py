"""No number of the settings can stop the bot's work or end it with a traceback: each has a least value."""

import inspect

import pytest

from app import settings
from app.settings import OperationsSettings, QueueSettings, find_mistakes, list_known_names, load
from app.settings.loader import Settings

MAY_BE_ZERO = {
    "debounce_seconds",
    "gate_margin",
    "min_lines",
    "ops_port",
    "reproduction_tests",
    "retry_seconds",
    "tests_wait_seconds",
    "train_gpus",
    "train_new_issues",
    "train_shared_seconds",
    "train_test_issues",
}


def list_numbers():
    """Return each numeric setting of every class of settings with its class."""
    kinds = [kind for kind in vars(settings).values() if inspect.isclass(kind)]
    return [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}")
        for kind in kinds
        if issubclass(kind, Settings)
        for name, field in kind.model_json_schema()["properties"].items()
        if {"integer", "number"} & {form.get("type") for form in field.get("anyOf", [field])}
    ]


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in list_known_names():
        monkeypatch.delenv(name, raising=False)


def find_mistake(monkeypatch, kind, name, value):
    """Return what is wrong with this value of the setting; None: it may have it."""
    variable = f"R4P_{name.upper()}"
    monkeypatch.setenv(variable, value)
    lines = [line for line in find_mistakes(kind) if line.startswith(f"{variable}: ")]
    assert len(lines) <= 1
    return next(iter(lines), None)


@pytest.mark.parametrize(("kind", "name"), list_numbers())
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-inf"])
def test_negative_and_endless_number_is_refused_with_the_fix(monkeypatch, kind, name, value):
    told = find_mistake(monkeypatch, kind, name, value)
    assert told is not None
    assert f"can't be {value!r}: give " in told


@pytest.mark.parametrize(("kind", "name"), list_numbers())
def test_zero_is_allowed_only_where_it_has_a_meaning(monkeypatch, kind, name):
    told = find_mistake(monkeypatch, kind, name, "0")
    assert (told is None) == (name in MAY_BE_ZERO)


def test_each_number_that_may_be_zero_exists():
    assert {param.values[1] for param in list_numbers()} >= MAY_BE_ZERO


@pytest.mark.parametrize("value", ["65536", "70000", "99999999999"])
def test_port_of_operations_is_a_port(monkeypatch, value):
    told = find_mistake(monkeypatch, OperationsSettings, "ops_port", value)
    assert told == f"R4P_OPS_PORT: can't be {value!r}: give a whole number from 0 to 65535"


def test_least_value_is_told(monkeypatch):
    told = find_mistake(monkeypatch, QueueSettings, "sweep_seconds", "0")
    assert told == "R4P_SWEEP_SECONDS: can't be '0': give a number greater than 0"


def test_defaults_are_allowed():
    assert load(QueueSettings).max_attempts == 3
