"""Builds one valid example of every answer and delivery from GitHub's own examples (pure)."""

from typing import Any

from tests.github.contract.closing import close, close_root
from tests.github.contract.dialect import Schema
from tests.github.contract.refresh.completion import CannotComplete, Completion
from tests.github.contract.refresh.cut import inline, webhooks_in_scope
from tests.github.contract.refresh.scope import Operations
from tests.github.contract.validators import Validators


def build_rest_examples(
    document: dict[str, Any], operations: Operations
) -> dict[str, dict[str, Any]]:
    """`examples[operation id][status]`: GitHub's example, brought up to the schema where it fails it."""
    schemas = document["components"]["schemas"]
    completion = Completion(schemas, Validators.of("rest", schemas))
    closed = Validators.of("rest", {name: close(item, schemas) for name, item in schemas.items()})
    built: dict[str, dict[str, Any]] = {}
    for path, methods in operations.items():
        for method in methods:
            operation = document["paths"][path][method]
            for status, response in operation["responses"].items():
                full = inline(document, response)
                body = full.get("content", {}).get("application/json")
                if body is not None:
                    start = _first_example(document, body) or _envelope(status, full)
                    try:
                        value = completion.complete(body["schema"], start)
                    except CannotComplete:
                        if status.startswith("2"):
                            raise
                        continue  # one of two shapes, of which every error fits both
                    _drop_undeclared(closed, close_root(body["schema"], schemas), value)
                    built.setdefault(operation["operationId"], {})[status] = value
    return built


def _drop_undeclared(closed: Validators, schema: Schema, value: Any) -> None:
    """Delete, in place and innermost first, the keys that the closed schema refuses."""
    for place, names in iter(lambda: closed.find_undeclared(schema, value), None):
        parent = value
        for step in place:
            parent = parent[step]
        for name in names:
            del parent[name]


def _first_example(document: dict[str, Any], body: dict[str, Any]) -> Any:
    for example in body.get("examples", {}).values():
        value = inline(document, example)["value"]
        if isinstance(value, dict) and "$ref" in value:  # a few nest the reference once more
            value = inline(document, value)["value"]
        return value
    return None


def _envelope(status: str, response: dict[str, Any]) -> dict[str, str]:
    if status.startswith("2"):
        return {}
    documentation = "https://docs.github.com/rest"
    message = response["description"]
    return {"message": message, "documentation_url": documentation, "status": status}


def build_webhook_examples(
    document: dict[str, Any], shipped: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """`examples[event][action]`, as an App would receive it.

    An action that was never recorded is built from a recorded one of the same event.
    """
    schemas = document["components"]["schemas"]
    completion = Completion(schemas, Validators.of("webhooks", schemas))
    built: dict[str, dict[str, Any]] = {}
    for event, action, post in webhooks_in_scope(document):
        recorded = shipped[event]["examples"]
        same = [item for item in recorded if item.get("action", "") == action]
        chosen = max(same or recorded, key=lambda item: "installation" in item)
        value = dict(chosen) | ({"action": action} if action else {})
        if event != "ping":
            value.setdefault(
                "installation", {"id": 2, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMg=="}
            )
        schema = post["requestBody"]["content"]["application/json"]["schema"]
        built.setdefault(event, {})[action] = completion.complete(schema, value)
    return built
