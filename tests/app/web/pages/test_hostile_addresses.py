"""A page answers 404 for an address that no page has, also where PostgreSQL or Python refuses the value."""

import re
from itertools import product

import pytest

from app.web.pages.routes import ACTIONS, OPEN, PAGES, REPOSITORY
from tests.app.web.pages.browsing import read_csrf

pytestmark = pytest.mark.services

PARAMETER = re.compile(r"\{(\w+)[^}]*\}")
REAL = {"owner": "octo", "name": "cat", "issue": "3"}
VALUES = {
    "NUL": "%00",
    "NUL inside": "a%00b",
    "not UTF-8": "%ff%ed%a0%80",
    "very long": "a" * 5_000,
    "beyond bigint": "9" * 20,
    "beyond Python's int": "9" * 5_000,
}
MISSING = "There is no such page, or you may not see it."
SHOWN = sorted({*OPEN, *PAGES, f"{REPOSITORY}/track-record"})


def list_addresses(paths):
    """Each path with one parameter hostile and the rest real, as `(path, parameter)`."""
    return [(path, name) for path in paths for name in PARAMETER.findall(path)]


def write_address(path, hostile, value):
    """Fill the parameters of a path."""
    return PARAMETER.sub(
        lambda match: value if match[1] == hostile else REAL.get(match[1], "1"), path
    )


@pytest.fixture
def people(pages):
    """Somebody who may read and write the repository, and an operator."""
    return [pages.sign_in(login) for login in ("mona", "ops")]


@pytest.mark.parametrize(("path", "parameter"), list_addresses(SHOWN))
def test_a_page_with_a_hostile_address_is_missing(people, path, parameter):
    for browser, (kind, value) in product(people, VALUES.items()):
        answer = browser.get(write_address(path, parameter, value))
        assert answer.status_code == 404, kind
        assert MISSING in answer.text, kind


@pytest.mark.parametrize(("path", "parameter"), list_addresses(ACTIONS))
def test_a_form_with_a_hostile_address_is_missing(people, path, parameter):
    for browser, (kind, value) in product(people, VALUES.items()):
        form = {"csrf": read_csrf(browser.get("/")), "answer": "agree"}
        answer = browser.post(write_address(path, parameter, value), data=form)
        assert answer.status_code == 404, kind
        assert MISSING in answer.text, kind


FIELDS = ("repository", "guid", "alias", "model", "next", "noted", "retried", "asked")


@pytest.mark.parametrize("path", SHOWN)
def test_a_hostile_query_is_no_error_of_the_server(people, path):
    address = write_address(path, None, "")
    for browser in people:
        for name in FIELDS:
            assert browser.get(f"{address}?alias=shadow&{name}=%00").status_code == 404
            answer = browser.get(f"{address}?alias=shadow&{name}={'9' * 5_000}")
            assert answer.status_code < 500


@pytest.mark.parametrize("path", sorted({*ACTIONS} - {"/sign-out"}))
def test_a_hostile_field_of_a_form_is_no_error_of_the_server(people, path):
    for browser in people:
        form = {"csrf": read_csrf(browser.get("/")), "answer": "disagree", "alias": "shadow"}
        for name in ("about", "reason", "model", "holder"):
            address = write_address(path, None, "")
            assert browser.post(address, data=form | {name: "\0"}).status_code == 404
            assert browser.post(address, data=form | {name: "9" * 5_000}).status_code < 500
