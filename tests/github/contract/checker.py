"""Checks REST calls and webhook deliveries against GitHub's own schemas; it sends and stores nothing."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.github.contract import api_version, exceptions, graphql, headers, routes
from tests.github.contract.api_version import ApiVersion
from tests.github.contract.closing import close, close_root
from tests.github.contract.dialect import Schema
from tests.github.contract.documents import read_json, read_toml
from tests.github.contract.exceptions import Body, DeclaredElsewhere
from tests.github.contract.headers import Paging
from tests.github.contract.requests import body_problems, parameter_problems
from tests.github.contract.routes import Operation
from tests.github.contract.strict_json import NotJson, parse
from tests.github.contract.validators import Validators
from tests.github.contract.violation import Violation

MAX_PAYLOAD_BYTES = 25 * 1024 * 1024
"""GitHub drops larger deliveries instead of sending them."""


@dataclass(frozen=True, slots=True)
class Contract:
    """GitHub's REST operations and webhook events, as far as this bot meets them."""

    rest: Validators
    webhooks: Validators
    schemas: Mapping[str, Schema]
    """The REST components as GitHub publishes them."""
    known_routes: list[routes.Route]
    events: Mapping[str, Mapping[str, Any]]
    examples: Mapping[str, Mapping[str, Mapping[str, Any]]]
    exceptions: tuple[DeclaredElsewhere, ...]
    version: ApiVersion
    used: set[str] = field(default_factory=set)
    """Ids of the exceptions that some answer has needed so far."""

    @classmethod
    def load(cls, version: str = api_version.STORED) -> "Contract":
        """Read the schemas of a version of the API; the validators compile when they are first needed."""
        rest = read_json("rest.json")
        webhooks = read_json("webhooks.json.xz")
        changes = ApiVersion.load(version)
        schemas = changes.upgrade_rest(rest["components"]["schemas"])
        delivered = {
            name: changes.upgrade_webhook(item)
            for name, item in webhooks["components"]["schemas"].items()
        }
        entries = read_toml("exceptions.toml")["exception"]
        return cls(
            rest=Validators.of(
                "rest", {name: close(item, schemas) for name, item in schemas.items()}
            ),
            schemas=schemas,
            webhooks=Validators.of("webhooks", delivered),
            known_routes=routes.routes(rest["paths"]),
            events=webhooks["webhooks"],
            examples=read_json("examples.json.xz"),
            exceptions=tuple(DeclaredElsewhere.parse(entry) for entry in entries),
            version=changes,
        )

    def operation(self, method: str, path: str) -> Operation | None:
        """Return the operation of a path without `/api/v3`, or None if there is none."""
        return routes.find(self.known_routes, method, path)

    def operations(self) -> dict[str, tuple[str, str]]:
        """Method and path template of every covered operation, by GitHub's operation id."""
        return {
            definition["operationId"]: (method.upper(), route.template)
            for route in self.known_routes
            for method, definition in route.methods.items()
        }

    def check_request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers_: Mapping[str, str],
        body: bytes,
    ) -> list[Violation]:
        """List the parts of a request that GitHub would refuse or silently ignore."""
        if routes.is_git(path):
            return []
        if path == graphql.PATH:
            return graphql.check_request(headers.lower_names(headers_), body)
        operation = self.operation(method, path)
        if operation is None:
            return [_unknown("request", method, path)]
        sent = headers.lower_names(headers_)
        problems = [
            *headers.check_request_headers(sent, self.version.name),
            *parameter_problems(self.rest, operation, query),
            *body_problems(self.rest, operation, sent, body),
        ]
        where = f"request {operation.method} {operation.template}"
        return [Violation(where, problem) for problem in problems]

    def check_response(
        self,
        method: str,
        path: str,
        status: int,
        headers_: Mapping[str, str],
        body: bytes,
        query: Mapping[str, str] | None = None,
    ) -> list[Violation]:
        """List the parts of an answer that GitHub would not send; `query` is the request's."""
        if routes.is_git(path):
            return []
        sent = headers.lower_names(headers_)
        if path == graphql.PATH:
            return graphql.check_response(status, sent, body)
        operation = self.operation(method, path)
        if operation is None:
            return [_unknown("response", method, path)]
        problems = [
            *self._answer_problems(operation, status, sent, body),
            *_header_problems(operation, status, sent),
            *_paging_problems(operation, status, sent, body, query or {}),
        ]
        where = f"response {operation.method} {operation.template} {status}"
        return [Violation(where, problem) for problem in problems]

    def check_webhook(
        self, event: str, headers_: Mapping[str, str], body: bytes
    ) -> list[Violation]:
        """List the parts of a delivery that GitHub would not send to an App."""
        sent = headers.lower_names(headers_)
        try:
            payload = parse(body)
        except NotJson as error:
            return [Violation(f"webhook {event}", str(error))]
        action = payload.get("action", "") if isinstance(payload, dict) else ""
        where = f"webhook {event} {action}".rstrip()
        actions = self.events.get(event, {})
        expected = actions.get(action) or actions.get("")
        if expected is None:
            return [Violation(where, "the contract knows no such event and action")]
        problems = [f"no {name}" for name in expected["headers"] if name.lower() not in sent]
        problems += headers.check_delivery_headers(event, sent)
        schema = self.version.upgrade_webhook(expected["schema"])
        problems += self.webhooks.errors(f"{event} {action}", schema, payload)
        if event != "ping" and "installation" not in payload:
            problems.append("no installation: every delivery to an App names it")
        if len(body) > MAX_PAYLOAD_BYTES:
            problems.append(f"{len(body)} bytes, but GitHub delivers at most {MAX_PAYLOAD_BYTES}")
        return [Violation(where, problem) for problem in problems]

    def rest_example(self, operation_id: str, status: int) -> Any:
        """A fresh copy of a JSON body that validates; KeyError if there is none for that answer."""
        return copy.deepcopy(self.examples["rest"][operation_id][str(status)])

    def webhook_example(self, event: str, action: str | None) -> dict[str, Any]:
        """A fresh copy of a payload that validates, `installation` included."""
        example: dict[str, Any] = copy.deepcopy(self.examples["webhooks"][event][action or ""])
        return example

    def _answer_problems(
        self, operation: Operation, status: int, sent: Mapping[str, str], body: bytes
    ) -> list[str]:
        """Status, media type and body: declared, excepted, or wrong."""
        media = headers.media_type(sent)
        declared = operation.definition["responses"].get(str(status))
        if declared is not None and not declared["content"]:
            return exceptions.check_body(Body.NONE, body) if status != 302 else []
        if declared is not None and media in declared["content"]:
            if media in exceptions.DECLARED_TEXTS:
                return exceptions.check_body(exceptions.DECLARED_TEXTS[media], body)
            schema = declared["content"][media]["schema"]
            return self._json_problems(f"{operation.id} {status} {media}", schema, status, body)
        excepted = exceptions.find(self.exceptions, operation.id, status, media)
        if excepted is not None:
            self.used.add(excepted.id)
            return exceptions.check_body(excepted.body, body)
        if declared is not None:
            return [f"media type {media!r} is not among {sorted(declared['content'])}"]
        return [f"status {status} is not declared: {sorted(operation.definition['responses'])}"]

    def _json_problems(
        self, key: str, schema: dict[str, Any], status: int, body: bytes
    ) -> list[str]:
        try:
            value = parse(body)
        except NotJson as error:
            return [str(error)]
        if status >= 400:
            return self.rest.errors(key, schema, value) + exceptions.check_error(body.decode())
        return self.rest.errors(key, close_root(schema, self.schemas), value)


def _unknown(what: str, method: str, path: str) -> Violation:
    return Violation(f"{what} {method.upper()} {path}", "the contract knows no such operation")


def _header_problems(operation: Operation, status: int, sent: Mapping[str, str]) -> Iterator[str]:
    counted = status < 500 and status != 401 and not operation.template.startswith("/app")
    yield from headers.check_common_headers(sent, rate_limited=counted)
    content_type = sent.get("content-type", "")
    if content_type.startswith("application/json") and "charset=utf-8" not in content_type.lower():
        yield f"Content-Type is {content_type!r}, without charset=utf-8"
    if status == 304 or (
        operation.method == "GET" and status == 200 and operation.id != "rate-limit/get"
    ):
        yield from headers.check_etag(sent)
    declared = operation.definition["responses"].get(str(status), {})
    if "Location" in declared.get("headers", ()) or status in (301, 302, 307):
        yield from headers.check_location(sent)


def _paging_problems(
    operation: Operation,
    status: int,
    sent: Mapping[str, str],
    body: bytes,
    query: Mapping[str, str],
) -> Iterator[str]:
    names = {parameter["name"] for parameter in operation.definition["parameters"]}
    if status != 200 or "per_page" not in names:
        return
    paging = _paging(body, query)
    if paging is not None:
        yield from headers.check_link(sent, paging)


def _paging(body: bytes, query: Mapping[str, str]) -> Paging | None:
    """Return the facts for the Link header, or None if the body is no list."""
    try:
        value = parse(body)
        page, per_page = int(query.get("page", 1)), min(int(query.get("per_page", 30)), 100)
    except (NotJson, ValueError):
        return None
    total = None
    if isinstance(value, dict) and isinstance(value.get("total_count"), int):
        total = value["total_count"]
        value = next((item for item in value.values() if isinstance(item, list)), None)
    return Paging(page, per_page, len(value), total) if isinstance(value, list) else None
