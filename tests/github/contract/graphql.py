"""Checks of GraphQL requests and answers against GitHub's public schema, without executing them."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    build_schema,
    get_operation_ast,
    get_variable_values,
    parse,
    validate,
)

from tests.github.contract import headers
from tests.github.contract.documents import read_bytes
from tests.github.contract.selection import Selection
from tests.github.contract.strict_json import NotJson
from tests.github.contract.strict_json import parse as parse_json
from tests.github.contract.violation import Violation

PATH = "/graphql"


@cache
def graphql_schema() -> GraphQLSchema:
    """Return GitHub's whole public schema; the first call takes about a second."""
    return build_schema(read_bytes("schema.graphql.xz").decode(), assume_valid=True)


def check_request(sent: Mapping[str, str], body: bytes) -> list[Violation]:
    """List what GitHub would refuse in a GraphQL call; header names in lower case."""
    problems = [] if sent.get("user-agent") else ["no User-Agent"]
    if headers.media_type(sent) != "application/json":
        problems.append(f"Content-Type is {headers.media_type(sent)!r}, not 'application/json'")
    try:
        call = _call(body)
        problems += _query_problems(*call)
    except NotJson as error:
        problems.append(str(error))
    return [Violation("request POST /graphql", problem) for problem in problems]


def check_response(status: int, sent: Mapping[str, str], body: bytes) -> list[Violation]:
    """List the problems of an answer's envelope; `check_graphql` checks the data."""
    return [
        Violation(f"response POST /graphql {status}", problem)
        for problem in _envelope_problems(status, sent, body)
    ]


def check_graphql(request: bytes, response: bytes) -> list[Violation]:
    """Return whether the data of an answer is what the request selected, in the schema's types.

    A null where the schema demands a value is a violation unless the answer has `errors`.
    """
    try:
        query, variables = _call(request)
        answer = parse_json(response)
        operation, document = _operation(query)
    except (NotJson, GraphQLError) as error:
        return [Violation("response POST /graphql", str(error))]
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
        return []  # a refused query has no data; its envelope is checked elsewhere
    selection = Selection.of(graphql_schema(), document, _coerce_variables(operation, variables))
    root = graphql_schema().get_root_type(operation.operation)
    if root is None:
        return [
            Violation("response POST /graphql", f"no {operation.operation.value} in the schema")
        ]
    problems = selection.object_problems(root, [operation.selection_set], answer["data"], "data")
    return [Violation("response POST /graphql", problem) for problem in problems]


def _call(body: bytes) -> tuple[str, dict[str, Any]]:
    value = parse_json(body)
    if not isinstance(value, dict) or not isinstance(value.get("query"), str):
        raise NotJson("a GraphQL call is an object with a string `query`")
    variables = value.get("variables") or {}
    if not isinstance(variables, dict):
        raise NotJson("`variables` is not an object")
    return value["query"], variables


def _operation(query: str) -> tuple[OperationDefinitionNode, DocumentNode]:
    document = parse(query)
    operation = get_operation_ast(document)
    if operation is None:
        raise GraphQLError("the document must hold exactly one operation")
    return operation, document


def _query_problems(query: str, variables: dict[str, Any]) -> list[str]:
    try:
        operation, document = _operation(query)
    except GraphQLError as error:
        return [error.message]
    problems = [error.message for error in validate(graphql_schema(), document)]
    if problems:
        return problems
    values = get_variable_values(graphql_schema(), operation.variable_definitions or (), variables)
    return [error.message for error in values] if isinstance(values, list) else []


def _coerce_variables(
    operation: OperationDefinitionNode, variables: dict[str, Any]
) -> Mapping[str, Any]:
    """Return the variables with their defaults; the request's check reports those of a wrong type."""
    values = get_variable_values(graphql_schema(), operation.variable_definitions or (), variables)
    return variables if isinstance(values, list) else values.coerced


def _envelope_problems(status: int, sent: Mapping[str, str], body: bytes) -> Iterator[str]:
    yield from headers.check_common_headers(sent, rate_limited=status < 500 and status != 401)
    if status not in (200, 401, 403, 429, 500, 502, 503, 504):
        yield f"status {status}: GitHub answers 200 even to a query it refuses"
    if status >= 500 and headers.media_type(sent) == "text/html":
        return
    if headers.media_type(sent) != "application/json":
        yield f"media type is {headers.media_type(sent)!r}"
    try:
        answer = parse_json(body)
    except NotJson as error:
        yield str(error)
        return
    if status == 200:
        yield from _result_problems(answer)
    elif not isinstance(answer, dict) or not isinstance(answer.get("message"), str):
        yield "an error body must be an object with a string `message`"


def _result_problems(answer: object) -> Iterator[str]:
    if not isinstance(answer, dict) or not answer.keys() & {"data", "errors"}:
        yield "a result has `data` or `errors`"
        return
    unknown = answer.keys() - {"data", "errors", "extensions"}
    if unknown:
        yield f"a result has no {sorted(unknown)}"
    errors = answer.get("errors", [])
    if not isinstance(errors, list) or ("errors" in answer and not errors):
        yield "`errors` is a list and never empty"
        return
    for error in errors:
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            yield "every error has a string `message`"
