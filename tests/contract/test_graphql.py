"""GraphQL calls and answers against GitHub's own schema."""

import json
import time
from dataclasses import replace

import pytest

from tests.contract.messages import HEADERS, REQUEST_HEADERS, build_exchange, set_header
from tests.github.contract import check_graphql, graphql_schema

NODE = 'query($x: Boolean = false) { node(id: "I_1") { %s } }'


def compare(query, data, variables=None):
    """List the differences between data and selection."""
    request = json.dumps({"query": query, "variables": variables}).encode()
    return [item.what for item in check_graphql(request, json.dumps({"data": data}).encode())]


def test_the_schema_is_githubs_and_is_built_once_within_seconds():
    graphql_schema.cache_clear()
    started = time.process_time()  # processor time: other work on the machine does not count
    schema = graphql_schema()
    spent = time.process_time() - started
    print(f"built in {spent:.3f} s")  # noqa: T201
    assert spent < 5
    assert schema.get_type("ConnectedEvent") is not None
    assert graphql_schema() is schema


@pytest.mark.parametrize(
    ("query", "data", "variables"),
    [
        (NODE % "id", {"node": None}, None),
        (NODE % "id", {"node": {"id": "I_1"}}, None),
        (NODE % "__typename ... on Issue { n: number }", {"node": {"__typename": "User"}}, None),
        (NODE % "... on Issue { n: number }", {"node": {"n": 7}}, None),
        (NODE % "... on Comment { body }", {"node": {"body": "hello"}}, None),
        (NODE % "... { id }", {"node": {"id": "I_1"}}, None),
        (NODE % "id @include(if: $x)", {"node": {}}, None),
        (NODE % "id @include(if: $x)", {"node": {"id": "I_1"}}, {"x": True}),
        (NODE % "id ... on Issue @skip(if: true) { number }", {"node": {"id": "I_1"}}, None),
        ("{ rateLimit { cost resetAt } }", {"rateLimit": {"cost": 1, "resetAt": "2026-11-21T10:00:00Z"}}, None),
        ("{ viewer { isHireable } viewer { login } }", {"viewer": {"isHireable": False, "login": "o"}}, None),
        (
            '{ repository(owner: "o", name: "r") { ...R } } fragment R on Repository { id }',
            {"repository": {"id": "R_1"}},
            None,
        ),
    ],
)  # fmt: skip
def test_data_that_is_what_was_selected_is_accepted(query, data, variables):
    assert compare(query, data, variables) == []


@pytest.mark.parametrize(
    ("query", "data", "what"),
    [
        (NODE % "id", {"node": []}, "data/node"),
        (NODE % "__typename id", {"node": {"__typename": "Patch", "id": "1"}}, "data/node: "),
        ("{ viewer { login } }", {"viewer": None}, "data/viewer: null, but the schema says User!"),
        ("{ viewer { login } }", {"viewer": 4}, "data/viewer: 4 is not a User object"),
        ("{ viewer { login } }", {"viewer": {"login": 4}}, "data/viewer/login: 4 is no String"),
        ("{ viewer { databaseId } }", {"viewer": {"databaseId": True}}, "data/viewer/databaseId"),
        ("{ viewer { isHireable } }", {"viewer": {"isHireable": 1}}, "data/viewer/isHireable: 1"),
        ("{ viewer { url } }", {"viewer": {"url": "ssh"}}, "data/viewer/url: 'ssh' does not look"),
        ("{ viewer { __typename } }", {"viewer": {"__typename": "Bot"}}, "data/viewer/__typename"),
    ],
)
def test_data_of_another_shape_is_a_violation(query, data, what):
    violations = compare(query, data)
    assert len(violations) == 1
    assert violations[0].startswith(what)


@pytest.mark.parametrize("request_body", [b"{", b"[]", b'{"query": "{ viewer"}', b'{"query": ""}'])
def test_a_call_that_cannot_be_read_is_a_violation(contract, request_body):
    assert check_graphql(request_body, b'{"data": {}}')
    assert contract.check_request("POST", "/graphql", {}, REQUEST_HEADERS, request_body)


def test_a_call_with_variables_that_are_no_object_is_a_violation(contract):
    body = b'{"query": "{ viewer { login } }", "variables": [1]}'
    violations = contract.check_request("POST", "/graphql", {}, REQUEST_HEADERS, body)
    assert [item.what for item in violations] == ["`variables` is not an object"]


def test_a_document_of_two_operations_is_a_violation(contract):
    body = json.dumps({"query": "query A { viewer { id } } query B { viewer { id } }"}).encode()
    violations = contract.check_request("POST", "/graphql", {}, REQUEST_HEADERS, body)
    assert [item.what for item in violations] == ["the document must hold exactly one operation"]


def test_a_call_needs_a_user_agent_and_says_it_is_json(contract):
    body = b'{"query": "{ viewer { login } }"}'
    violations = contract.check_request(
        "POST", "/graphql", {}, {"Content-Type": "text/plain"}, body
    )
    assert [item.what for item in violations] == [
        "no User-Agent",
        "Content-Type is 'text/plain', not 'application/json'",
    ]


def test_a_mutation_the_schema_lacks_is_a_violation():
    assert compare("subscription { x }", {"x": 1}) == ["no subscription in the schema"]


def test_a_refused_query_has_errors_and_no_data(contract):
    body = {"errors": [{"message": "Field 'x' doesn't exist on type 'Query'", "path": ["query"]}]}
    assert replace(build_exchange(), body=body).violations(contract) == []


@pytest.mark.parametrize(
    ("status", "content_type", "body", "what"),
    [
        (401, HEADERS["Content-Type"], b'{"message": "Bad credentials"}', None),
        (502, "text/html", b"<html>", None),
        (401, HEADERS["Content-Type"], b'{"errors": []}', "an error body must be an object"),
        (422, HEADERS["Content-Type"], b'{"message": "x"}', "status 422: GitHub answers 200"),
        (200, "text/plain", b'{"data": null}', "media type is 'text/plain'"),
        (200, HEADERS["Content-Type"], b"{", "body is not JSON"),
        (200, HEADERS["Content-Type"], b'{"data": {}, "ok": 1}', "a result has no ['ok']"),
        (200, HEADERS["Content-Type"], b'{"errors": ["x"]}', "every error has a string `message`"),
    ],
)
def test_the_envelope_of_an_answer_is_checked(contract, status, content_type, body, what):
    sent = set_header("Content-Type", content_type)(build_exchange()).headers
    violations = contract.check_response("POST", "/graphql", status, sent, body)
    assert [item.what[: len(what)] for item in violations] == ([what] if what else [])
