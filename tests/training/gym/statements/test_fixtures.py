"""The steps of fixtures stand before those of the test, each after the fixtures that it needs."""

import pytest

from tests.training.gym.statements.samples import list_steps

CLIENT = """
import pytest
from flask import Flask


@pytest.fixture
def app():
    app = Flask('thing')
    return app


@pytest.fixture
def client(app):
    client = app.test_client()
    return client
"""


@pytest.mark.parametrize("arguments", ["client", "app, client", "client, app"])
def test_a_fixture_stands_after_those_that_it_needs(arguments):
    source = f"def test_it({arguments}):\n    assert client.get('/').status_code == 200\n"
    assert list_steps(source, CLIENT) == [
        "Import `Flask` from `flask`.",
        "Set `app` to `Flask('thing')`.",
        "Set `client` to `app.test_client()`.",
    ]


def test_a_fixture_that_overrides_another_one_ends():
    conftest = CLIENT.replace("def app():", "def app(app, client):")
    source = "def test_it(client):\n    assert client.get('/').status_code == 200\n"
    assert "Set `client` to `app.test_client()`." in list_steps(source, conftest)


READY = """
import pytest
from thing import App, DEFAULT

LIMITS = {'most': 3}


@pytest.fixture
def app():
    return App()


@pytest.fixture
def ready(app):
    app.start()
    yield app


@pytest.fixture
def limits():
    return LIMITS


@pytest.fixture
def make_user(app):
    def make(name):
        return app.add_user(name)

    yield make


@pytest.fixture
def wrapped(app):
    app = app.wrap()
    return app
"""


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("ready", ["Import `App` from `thing`.", "Set `app` to `App()`.", "Call `app.start()`.", "Set `ready` to `app`."]),
        ("limits", ["Set `LIMITS` to `{'most': 3}`.", "Set `limits` to `LIMITS`."]),
        ("wrapped", ["Import `App` from `thing`.", "Set `app` to `App()`.", "Set `app` to `app.wrap()`.", "Set `wrapped` to `app`."]),
    ],
)  # fmt: skip
def test_the_value_of_a_fixture_gets_its_name(name, steps):
    source = f"def test_it({name}):\n    assert {name}.status == 200\n"
    assert list_steps(source, READY) == steps


def test_a_fixture_that_hands_on_its_namesake_sets_nothing():
    conftest = READY.replace("def ready(app):", "def app(app):").replace("def app():", "def old():")
    assert list_steps("def test_it(app):\n    assert app.status == 200\n", conftest) == [
        "Call `app.start()`."
    ]


def test_a_function_that_a_fixture_returns_keeps_its_name():
    source = "def test_it(make_user):\n    assert make_user('ann').status == 200\n"
    steps = list_steps(source, READY)
    assert steps[-2:] == [
        "Define `make(name)` (return `app.add_user(name)`).",
        "Set `make_user` to `make`.",
    ]
