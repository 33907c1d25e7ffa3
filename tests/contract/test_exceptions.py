"""Undeclared answers of GitHub: each is listed, cited and needed."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.contract.messages import HEADERS, Answer
from tests.github.contract import Contract
from tests.github.contract.exceptions import Body, DeclaredElsewhere

LISTED = Contract.load().exceptions
BODIES = {
    Body.NONE: b"",
    Body.ERROR: b'{"message": "No", "documentation_url": "https://docs.github.com", "status": "4"}',
    Body.DIFF: b"diff --git a/x b/x\n",
    Body.PATCH: b"From 6dcb09b5b57875f334f61aebed695e2e4193db5e Mon Sep 17 00:00:00 2001\n",
    Body.HTML: b"<!DOCTYPE html><title>Unicorn!</title>",
}
CASES = [
    (entry, status, media)
    for entry in LISTED
    for status in sorted(entry.statuses)
    for media in sorted(entry.media_types) or [""]
]
DIFF = "application/vnd.github.diff; charset=utf-8"


def use(entry, status, media):
    """Return an answer that only this exception allows: `checks/get` declares nothing but 200."""
    path = "/repos/o/r/pulls/7" if "pulls/get" in entry.operations else "/repos/o/r/check-runs/7"
    charset = "; charset=utf-8" if media else ""
    headers = {**HEADERS, "Content-Type": media + charset}
    return Answer("GET", path, status, headers, None, {}, BODIES[entry.body])


@pytest.mark.parametrize(("entry", "status", "media"), CASES)
def test_every_exception_is_needed_and_allows_what_it_is_for(entry, status, media):
    contract = Contract.load()
    assert use(entry, status, media).violations(contract) == []
    assert contract.used == {entry.id}
    others = replace(contract, exceptions=tuple(item for item in LISTED if item != entry))
    assert use(entry, status, media).violations(others)


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.id)
def test_every_exception_cites_where_it_is_documented(entry):
    link = urlsplit(entry.link)
    assert link.scheme == "https"
    assert link.netloc in ("docs.github.com", "github.com")
    assert len(link.path) > 1


def test_no_two_exceptions_share_an_id():
    assert len({entry.id for entry in LISTED}) == len(LISTED)


def test_an_exception_without_a_link_is_refused():
    entry = {"id": "x", "operations": ["*"], "statuses": [418], "media_types": [], "body": "none"}
    with pytest.raises(KeyError, match="link"):
        DeclaredElsewhere.parse(entry)


@pytest.mark.parametrize(
    ("status", "content_type", "raw", "what"),
    [
        (200, DIFF, b"<html>", "body should start with 'diff --git ', not '<html>'"),
        (200, DIFF, b"diff --git \xff", "body is not UTF-8"),
        (304, "", b"{}", "has a body, but must have none"),
        (401, HEADERS["Content-Type"], b"[]", "an error body must be an object"),
        (401, HEADERS["Content-Type"], b"no", "body is not JSON"),
        (401, HEADERS["Content-Type"], b'{"message": "No", "status": 401}', "/status: must be a"),
        (503, "text/html", b"down", "body should start with '<'"),
    ],
)
def test_an_exception_does_not_allow_everything(contract, status, content_type, raw, what):
    headers = {**HEADERS, "Content-Type": content_type}
    violations = Answer("GET", "/repos/o/r/pulls/7", status, headers, None, {}, raw).violations(
        contract
    )
    assert [item.what[: len(what)] for item in violations] == [what]


def test_an_empty_diff_is_a_diff(contract):
    headers = {**HEADERS, "Content-Type": DIFF}
    path = "/repos/o/r/compare/main...main"
    assert Answer("GET", path, 200, headers, None, {}, b"").violations(contract) == []
