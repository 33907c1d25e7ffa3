"""Defects planted into valid messages; the contract must catch nearly all of them.

The share is honest only if defects that a stateless check cannot see are counted as well, so two
of them are here on purpose.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.messages import (
    Message,
    build_answer,
    build_delivery,
    build_exchange,
    build_page,
    drop_header,
    drop_place,
    rename_key,
    set_header,
    set_place,
)
from tests.github.contract import Contract

Spoil = Callable[[Any], Any]
MIN_SHARE = 0.95

PULL, ISSUE, COMMENT = "pulls/get", "issues/get", "issues/get-comment"
FIELD = "data/repository/issue"
LINKED = f"{FIELD}/closedByPullRequestsReferences"

REST: list[tuple[str, str, int, Spoil]] = [
    ("a required field is dropped", PULL, 200, drop_place("head")),
    ("a required field deep inside is dropped", PULL, 200, drop_place("base/repo/full_name")),
    ("a field the schema lists as nullable is dropped", PULL, 200, drop_place("mergeable")),
    ("a number is a string", PULL, 200, set_place("number", "1347")),
    ("an id is a string", COMMENT, 200, set_place("id", "1")),
    ("an id is a fraction", COMMENT, 200, set_place("id", 1.5)),
    ("a flag is a string", PULL, 200, set_place("draft", "false")),
    ("an object is null that may not be", PULL, 200, set_place("head/sha", None)),
    ("a state is in GraphQL's spelling", PULL, 200, set_place("state", "OPEN")),
    ("an enum has a value GitHub lacks", ISSUE, 200, set_place("author_association", "MAINTAINER")),
    ("a check run has an unknown conclusion", "checks/get", 200, set_place("conclusion", "passed")),
    ("a time is in seconds since 1970", COMMENT, 200, set_place("created_at", 1795237200)),
    ("a time lacks its zone", COMMENT, 200, set_place("created_at", "2026-11-21 10:00:00")),
    ("an address is no URL", COMMENT, 200, set_place("html_url", "not a url")),
    ("a required field is in camel case", PULL, 200, rename_key("node_id", "nodeId")),
    ("an optional field is in camel case", COMMENT, 200, rename_key("body", "bodyText")),
    ("a key is invented", COMMENT, 200, set_place("internal_row", 4)),
    ("a list is an object", "issues/list-comments", 200, lambda m: replace(m, body={"items": []})),
    ("one item of a list is wrong", "pulls/list-files", 200, set_place("0/additions", None)),
    ("a file status is invented", "pulls/list-files", 200, set_place("0/status", "touched")),
    ("a token lacks its end", "apps/create-installation-access-token", 201, drop_place("expires_at")),
    ("a list in an object lacks its count", "checks/list-for-ref", 200, drop_place("total_count")),
    ("a reaction is an emoji", "reactions/create-for-issue-comment", 201, set_place("content", "👍")),
    ("a permission is a number", "repos/get-collaborator-permission-level", 200, set_place("permission", 3)),
    ("an error has no message", PULL, 404, drop_place("message")),
    ("201 is sent for 200", PULL, 200, lambda m: replace(m, status=201)),
    ("200 is sent for 201", "issues/create-comment", 201, lambda m: replace(m, status=200)),
    ("a status is not declared", PULL, 200, lambda m: replace(m, status=418)),
    ("304 has a body", PULL, 200, lambda m: replace(m, status=304)),
    ("204 has a body", COMMENT, 200, lambda m: replace(m, method="DELETE", status=204)),
    ("an unknown path is answered", PULL, 200, lambda m: replace(m, path=m.path + "/merge")),
    ("an unknown method is answered", PULL, 200, lambda m: replace(m, method="PUT")),
    ("the body is cut off", PULL, 200, lambda m: replace(m, raw=b'{"number": 13')),
    ("the body holds NaN", PULL, 200, lambda m: replace(m, raw=b'{"number": NaN}')),
    ("JSON is sent as HTML", PULL, 200, set_header("Content-Type", "text/html; charset=utf-8")),
    ("JSON is sent as the media type asked for", PULL, 200,
     set_header("Content-Type", "application/vnd.github+json; charset=utf-8")),
    ("JSON is sent as a diff", PULL, 200, set_header("Content-Type", "application/vnd.github.diff")),
    ("the charset is missing", PULL, 200, set_header("Content-Type", "application/json")),
    ("the request id is missing", PULL, 200, drop_header("X-GitHub-Request-Id")),
    ("the quota is missing", PULL, 200, drop_header("X-RateLimit-Remaining")),
    ("the quota does not say of what", PULL, 200, drop_header("X-RateLimit-Resource")),
    ("the quota exceeds its limit", PULL, 200, set_header("X-RateLimit-Remaining", "5001")),
    ("the reset is a date", PULL, 200, set_header("X-RateLimit-Reset", "2026-11-21T10:00:00Z")),
    ("the ETag is missing", PULL, 200, drop_header("ETag")),
    ("the ETag is not quoted", PULL, 200, set_header("ETag", "5c8c6d3f")),
    ("the Location of a new comment is missing", "issues/create-comment", 201, drop_header("Location")),
    ("Retry-After is a date", PULL, 200, set_header("Retry-After", "Sat, 21 Nov 2026 10:00:00 GMT")),
    ("the ETag is stale", PULL, 200, set_place("title", "changed, while the ETag stayed")),
]  # fmt: skip

PAGES: list[tuple[str, str, int, Spoil]] = [
    ("Link is missing on page two", "issues/list-comments", 2, drop_header("Link")),
    ("Link is missing though the count says more", "checks/list-for-ref", 1, drop_header("Link")),
    ("the next page is off by one", "issues/list-comments", 1,
     set_header("Link", '<https://api.github.com/x?page=3>; rel="next"')),
    ("the last page is off by one", "checks/list-for-ref", 1,
     set_header("Link", '<https://api.github.com/x?page=2>; rel="next", '
                    '<https://api.github.com/x?page=2>; rel="last"')),
    ("Link is on a single page", "issues/list-comments", 1,
     set_header("Link", '<https://api.github.com/x?page=1>; rel="first"')),
    ("Link is relative", "issues/list-comments", 1, set_header("Link", '</x?page=2>; rel="next"')),
    ("Link is not in GitHub's form", "issues/list-comments", 1, set_header("Link", "/x?page=2")),
    ("Link names no page", "issues/list-comments", 1,
     set_header("Link", '<https://api.github.com/x>; rel="next"')),
    ("Link on page two does not lead back", "issues/list-comments", 2,
     set_header("Link", '<https://api.github.com/x?page=3>; rel="next"')),
    ("there is a next page though this one is not full", "issues/list-comments", 1,
     lambda m: replace(m, body=[])),
    ("a page is too long", "issues/list-comments", 1,
     lambda m: replace(m, body=m.body * 2)),
    ("Link is missing on page one of a bare list", "issues/list-comments", 1, drop_header("Link")),
]  # fmt: skip

DELIVERIES: list[tuple[str, str, str | None, Spoil]] = [
    ("a delivery lacks its sender", "issue_comment", "created", drop_place("sender")),
    ("a delivery lacks the head", "pull_request", "synchronize", drop_place("pull_request/head")),
    ("a delivery has a string id", "issues", "opened", set_place("issue/id", "I_1")),
    ("a delivery has an unknown action", "pull_request", "opened", set_place("action", "created")),
    ("a delivery is of another event", "issues", "opened", set_header("X-GitHub-Event", "push")),
    ("a delivery lacks its installation", "pull_request", "opened", drop_place("installation")),
    ("a delivery lacks its GUID", "push", None, drop_header("X-GitHub-Delivery")),
    ("a GUID is a number", "push", None, set_header("X-GitHub-Delivery", "42")),
    ("a delivery is not signed", "push", None, drop_header("X-Hub-Signature-256")),
    ("a signature lacks its prefix", "push", None, set_header("X-Hub-Signature-256", "5d" * 32)),
    ("a signature is SHA-1", "push", None, set_header("X-Hub-Signature-256", "sha1=" + "5d" * 20)),
    ("a delivery is not from Hookshot", "ping", None, set_header("User-Agent", "curl/8")),
    ("a delivery lacks its hook", "ping", None, drop_header("X-GitHub-Hook-ID")),
    ("a label has no colour", "label", "created", drop_place("label/color")),
    ("an installation is suspended by nobody", "installation", "suspend",
     drop_place("installation/suspended_by")),
]  # fmt: skip

GRAPHQL: list[tuple[str, Spoil]] = [
    ("a field does not exist", lambda m: replace(m, query=m.query.replace("closed\n", "shut\n"))),
    ("an argument does not exist", lambda m: replace(m, query=m.query.replace("number: $n", "no: $n"))),
    ("a variable is missing", lambda m: replace(m, variables={"owner": "octocat", "name": "x"})),
    ("a variable is a string", lambda m: replace(m, variables={**m.variables, "number": "7"})),
    ("the query does not parse", lambda m: replace(m, query=m.query + "}")),
    ("a selected field is missing", drop_place(f"{LINKED}/totalCount")),
    ("a field was not selected", set_place(f"{FIELD}/title", "Found a bug")),
    ("a value is null that may not be", set_place(f"{LINKED}/nodes/0/headRefOid", None)),
    ("an enum is in REST's spelling", set_place(f"{LINKED}/nodes/0/state", "open")),
    ("a SHA is short", set_place(f"{LINKED}/nodes/0/headRefOid", "6dcb09b")),
    ("a count is a string", set_place(f"{LINKED}/totalCount", "1")),
    ("a list is an object", set_place(f"{LINKED}/nodes", {})),
    ("a type cannot stand there", set_place(f"{FIELD}/timelineItems/nodes/0/__typename", "Commit")),
    ("a result has neither data nor errors", lambda m: replace(m, body={"result": None})),
    ("errors are empty", set_place("errors", [])),
]  # fmt: skip


def plant_defects(contract: Contract) -> list[tuple[str, Message, Spoil]]:
    """Return every defect with its name and valid message."""
    return [
        *((name, build_answer(contract, op, status), spoil) for name, op, status, spoil in REST),
        *((name, build_page(contract, op, number), spoil) for name, op, number, spoil in PAGES),
        *((name, build_delivery(contract, ev, act), spoil) for name, ev, act, spoil in DELIVERIES),
        *((f"GraphQL: {name}", build_exchange(), spoil) for name, spoil in GRAPHQL),
    ]


def list_missed(contract: Contract) -> list[str]:
    return [
        name
        for name, message, spoil in plant_defects(contract)
        if not spoil(message).violations(contract)
    ]


def test_messages_are_valid_before_a_defect_is_planted(contract):
    assert [
        (name, violations)
        for name, message, _ in plant_defects(contract)
        if (violations := message.violations(contract))
    ] == []


def test_at_least_95_percent_of_seeded_defects_are_caught(contract):
    total, unseen = len(plant_defects(contract)), list_missed(contract)
    share = 1 - len(unseen) / total
    print(f"{total - len(unseen)} of {total} caught ({share:.1%}); missed: {unseen}")  # noqa: T201
    assert total >= 40
    assert share >= MIN_SHARE, f"missed: {unseen}"


def test_only_defects_that_need_memory_are_missed(contract):
    assert list_missed(contract) == [
        "the ETag is stale",
        "Link is missing on page one of a bare list",
    ]


@pytest.mark.parametrize("name", ["a required field is dropped", "201 is sent for 200"])
def test_a_violation_says_where_and_what(contract, name):
    [(message, spoil)] = [(m, s) for defect, m, s in plant_defects(contract) if defect == name]
    violations = spoil(message).violations(contract)
    assert [(item.where, item.what) for item in violations] == {
        "a required field is dropped": [
            (
                "response GET /repos/{owner}/{repo}/pulls/{pull_number} 200",
                '/: "head" is a required property',
            )
        ],
        "201 is sent for 200": [
            (
                "response GET /repos/{owner}/{repo}/pulls/{pull_number} 201",
                "status 201 is not declared: ['200', '304', '404', '406', '500', '503']",
            )
        ],
    }[name]
