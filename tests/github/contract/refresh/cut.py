"""Cuts GitHub's API descriptions down to the scope, without changing what a schema accepts (pure)."""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.github.contract.dialect import Schema, references, rewrite
from tests.github.contract.refresh.scope import EVENTS, Operations

_ANNOTATIONS = ("title", "description", "example", "examples", "externalDocs", "readOnly")


def prune_rest(document: dict[str, Any], operations: Operations) -> dict[str, Any]:
    """Keep the operations in scope, with inlined parameters and headers, and the schemas they need."""
    paths = {
        path: {method: _operation(document, path, method) for method in methods}
        for path, methods in operations.items()
    }
    roots = [
        schema for path in paths.values() for op in path.values() for schema in _schemas_of(op)
    ]
    return {
        "openapi": document["openapi"],
        "info": {"title": "GitHub v3 REST API, pruned", "version": "2022-11-28"},
        "paths": paths,
        "components": {"schemas": _collect_schemas(document["components"]["schemas"], roots)},
    }


def collect_changes(document: dict[str, Any], names: Iterable[str], version: str) -> dict[str, Any]:
    """Collect what GitHub says that `version` changes: merge patches of the schemas `names`, and fields of deliveries."""
    schemas = document["components"]["schemas"]
    patches = {name: _list_patches(schemas[name], version) for name in names}
    removed = {
        step["path"].rpartition("/")[2]
        for name, schema in schemas.items()
        if name.startswith("webhook-pull-request")
        for patch in _list_patches(schema, version)
        for step in patch
    }
    return {
        "version": version,
        "schemas": {name: steps for name, steps in patches.items() if steps},
        # The other steps remove a name from `required`, by its place.
        "webhook_fields": sorted(name for name in removed if not name.isdecimal()),
    }


def _list_patches(schema: dict[str, Any], version: str) -> list[Any]:
    changes = schema.get("x-github-breaking-changes", ())
    return [change["patch"] for change in changes if change["version"] == version]


def _operation(document: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    full = document["paths"][path][method]
    parameters = [inline(document, parameter) for parameter in full.get("parameters", ())]
    kept: dict[str, Any] = {
        "operationId": full["operationId"],
        "parameters": [
            {key: item[key] for key in ("name", "in", "required", "x-multi-segment") if key in item}
            | {"schema": strip_annotations(item["schema"])}
            for item in parameters
        ],
        "responses": {
            status: _response(inline(document, response))
            for status, response in full["responses"].items()
        },
    }
    if "requestBody" in full:
        body = full["requestBody"]
        kept["requestBody"] = {
            "required": body.get("required", False),
            "content": _content(body["content"]),
        }
    return kept


def _response(response: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"headers": sorted(response.get("headers", ()))}
    return kept | {"content": _content(response.get("content", {}))}


def _content(content: dict[str, Any]) -> dict[str, Any]:
    return {
        media: {"schema": strip_annotations(body.get("schema", {}))}
        for media, body in content.items()
    }


def inline(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return the component that a `$ref` names, or the value itself."""
    if "$ref" not in value:
        return value
    _, section, name = value["$ref"].removeprefix("#/").split("/")
    component: dict[str, Any] = document["components"][section][name]
    return component


def _schemas_of(operation: dict[str, Any]) -> Iterator[Schema]:
    yield from (parameter["schema"] for parameter in operation.get("parameters", ()))
    bodies = [operation.get("requestBody", {}), *operation.get("responses", {}).values()]
    for body in bodies:
        yield from (media["schema"] for media in body.get("content", {}).values())


def strip_annotations(schema: Schema) -> Schema:
    """Return the schema without the keys that no validator reads."""
    return rewrite(schema, _without_annotations)


def _without_annotations(node: Schema) -> Schema:
    return {
        key: value
        for key, value in node.items()
        if key not in _ANNOTATIONS and not key.startswith("x-")
    }


def _collect_schemas(schemas: dict[str, Schema], roots: list[Schema]) -> dict[str, Schema]:
    """Collect every schema reachable from the roots, stripped and sorted by name."""
    needed: dict[str, Schema] = {}
    todo = list(roots)
    while todo:
        for reference in references(todo.pop()):
            name = reference.rsplit("/", 1)[1]
            if name not in needed:
                needed[name] = strip_annotations(schemas[name])
                todo.append(needed[name])
    return dict(sorted(needed.items()))


def prune_webhooks(document: dict[str, Any]) -> dict[str, Any]:
    """`webhooks[event][action]` with the delivery headers and the body's schema; no action is ""."""
    kept: dict[str, dict[str, Any]] = {}
    for event, action, post in webhooks_in_scope(document):
        kept.setdefault(event, {})[action] = {
            "headers": [item["name"] for item in post["parameters"] if item.get("required")],
            "schema": strip_annotations(
                post["requestBody"]["content"]["application/json"]["schema"]
            ),
        }
    roots = [body["schema"] for actions in kept.values() for body in actions.values()]
    needed = _collect_schemas(document["components"]["schemas"], roots)
    return {"webhooks": kept, "components": {"schemas": needed}}


def webhooks_in_scope(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Event, action and OpenAPI operation of each; an event without actions has the action ""."""
    for entry in document["webhooks"].values():
        post = entry["post"]
        event = post["x-github"]["subcategory"]
        if event in EVENTS:
            _, _, action = post["operationId"].partition("/")
            yield event, action.replace("-", "_"), post
