"""OpenAPI schemas as JSON Schema: rewriting, closing, routes and completion."""

import pytest

from tests.github.contract.closing import close, close_root
from tests.github.contract.dialect import references, to_json_schema
from tests.github.contract.refresh.completion import CannotComplete, Completion
from tests.github.contract.routes import find, routes
from tests.github.contract.strict_json import NotJson, parse
from tests.github.contract.validators import Validators, shorten

USER = {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]}
REF = {"$ref": "#/components/schemas/user"}


def accepts(schema, value, **schemas):
    """Return whether the fully closed schema accepts the value."""
    closed = {name: close(item, schemas) for name, item in schemas.items()}
    return Validators.of("test", closed).accepts("key", close_root(schema, schemas), value)


@pytest.mark.parametrize(
    ("openapi", "wanted"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"nullable": True}, {}),
        (
            {"allOf": [REF], "nullable": True},
            {"anyOf": [{"allOf": [{"$ref": "urn:x#/components/schemas/user"}]}, {"type": "null"}]},
        ),
        (
            {"properties": {"nullable": {"type": "boolean", "nullable": True}}},
            {"properties": {"nullable": {"type": ["boolean", "null"]}}},
        ),
        ({"items": REF}, {"items": {"$ref": "urn:x#/components/schemas/user"}}),
        ({"additionalProperties": True}, {"additionalProperties": True}),
    ],
)
def test_nullable_becomes_a_union_and_references_become_absolute(openapi, wanted):
    assert to_json_schema(openapi, "urn:x") == wanted


def test_references_are_found_at_any_depth_but_not_in_values():
    schema = {"items": {"oneOf": [REF, {"properties": {"$ref": REF}}]}, "default": {"$ref": "no"}}
    assert list(references(schema)) == [REF["$ref"], REF["$ref"]]


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        (USER, {"login": "o"}, True),
        (USER, {"login": "o", "x": 1}, False),
        (REF, {"login": "o", "x": 1}, False),
        ({"type": "array", "items": REF}, [{"login": "o", "x": 1}], False),
        ({"additionalProperties": REF}, {"y": {"login": "o", "x": 1}}, False),
        ({"anyOf": [REF, {"type": "null"}]}, {"login": "o", "x": 1}, False),
        ({"allOf": [REF, {"properties": {"x": {}}}]}, {"login": "o", "x": 1}, True),
        ({"allOf": [REF, {"properties": {"x": {}}}]}, {"login": "o", "y": 1}, False),
        ({"oneOf": [REF, {"type": "object", "required": ["x"]}]}, {"x": 1, "y": 1}, True),
        ({**USER, "additionalProperties": True}, {"login": "o", "x": 1}, True),
        ({"type": "object"}, {"x": 1}, True),
        ({"type": "string"}, "x", True),
    ],
)
def test_a_closed_schema_takes_no_key_it_does_not_declare(schema, value, accepted):
    assert accepts(schema, value, user=USER) is accepted


def test_a_schema_that_refers_to_itself_can_be_closed():
    team = {"properties": {"parent": {"$ref": "#/components/schemas/team"}}}
    assert accepts(team, {"parent": {"parent": {}}}, team=team)
    assert not accepts(team, {"parent": {"parent": {"x": 1}}}, team=team)


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        (REF, {"login": "hubot"}, {"login": "hubot"}),
        (REF, {}, {"login": ""}),
        ({"properties": {"by": REF}, "required": ["by"]}, {"at": 1}, {"at": 1, "by": {"login": ""}}),
        ({"type": "array", "items": REF}, [{}, {"login": "o"}], [{"login": ""}, {"login": "o"}]),
        ({"oneOf": [{"type": "null"}, REF]}, {}, {"login": ""}),
        ({"oneOf": [{"type": "null"}, REF]}, "ghost", None),
        ({"anyOf": [{"type": "integer"}, REF]}, {"login": 4}, {"login": ""}),
        ({"allOf": [REF, {"required": ["id"], "properties": {"id": {"type": "integer"}}}]}, {}, {"login": "", "id": 1}),
        ({"type": "string", "enum": ["a", "b"]}, "c", "a"),
        ({"type": "string", "format": "date-time"}, 4, "2026-01-01T00:00:00Z"),
        ({"type": "string", "example": "main"}, 4, "main"),
        ({**USER, "additionalProperties": False}, {"old": 1, "login": "o"}, {"login": "o"}),
        ({"type": "string", "nullable": True}, 4, ""),
        ({"type": "array", "items": REF}, "none", []),
    ],
)  # fmt: skip
def test_completion_changes_only_what_the_schema_refuses(schema, value, wanted):
    completion = Completion({"user": USER}, Validators.of("test", {"user": USER}))
    assert completion.complete(schema, value) == wanted


def test_completion_gives_up_loudly():
    completion = Completion({}, Validators.of("test", {}))
    with pytest.raises(CannotComplete, match="is not of type"):
        completion.complete({"type": "string", "pattern": "^x+$"}, 4)


PATHS = {
    "/repos/{o}/commits/{ref}": {"get": {"operationId": "get", "parameters": []}},
    "/repos/{o}/commits/{ref}/check-runs": {"get": {"operationId": "list", "parameters": []}},
    "/things/{id}": {"get": {"operationId": "thing", "parameters": []}},
}
PARAMETERS = [
    {"name": "o", "in": "path", "schema": {"type": "string"}},
    {"name": "ref", "in": "path", "schema": {"type": "string"}, "x-multi-segment": True},
    {"name": "id", "in": "path", "schema": {"type": "integer"}},
]


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/repos/x/commits/main", ("get", {"o": "x", "ref": "main"})),
        ("get", "/repos/x/commits/fix/one", ("get", {"o": "x", "ref": "fix/one"})),
        ("GET", "/repos/x/commits/fix/one/check-runs", ("list", {"o": "x", "ref": "fix/one"})),
        ("GET", "/repos/x/commits/fix%2Fone", ("get", {"o": "x", "ref": "fix/one"})),
        ("GET", "/things/7", ("thing", {"id": "7"})),
        ("GET", "/things/seven", None),
        ("POST", "/things/7", None),
        ("GET", "/repos/x/y/commits", None),
    ],
)
def test_a_path_finds_its_operation(method, path, wanted):
    paths = {
        template: {
            method: {**definition, "parameters": PARAMETERS}
            for method, definition in methods.items()
        }
        for template, methods in PATHS.items()
    }
    operation = find(routes(paths), method, path)
    assert (operation and (operation.id, dict(operation.path_params))) == wanted


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b'{"a": -Infinity}', b'{"a": 1, "a": 1}', b"\xff"]
)
def test_only_strict_json_is_read(body):
    with pytest.raises(NotJson):
        parse(body)


def test_a_long_message_keeps_its_ends():
    assert shorten("a" * 200 + "b" * 200, limit=10) == "aaaaa … bbbbb"
    assert shorten("short") == "short"
