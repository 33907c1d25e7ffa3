"""GraphQL on GitHub's real schema: parse and validate once per query text, execute on the state."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphql import DocumentNode, ExecutionResult, GraphQLError, execute_sync, parse, validate
from graphql.type import GraphQLAbstractType, GraphQLResolveInfo

from tests.github.contract import Violation, check_graphql, graphql_schema
from tests.github.graphql.events import RESOLVERS
from tests.github.graphql.nodes import GraphContext, type_name
from tests.github.rest.exchange import Exchange, Reply, common_headers, note
from tests.github.world import auth
from tests.github.world.http_values import ApiError, Caller, Json
from tests.github.world.world import World

_CONTENT_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query text after parsing and validation: a document, or GitHub's complaints."""

    document: DocumentNode | None
    errors: tuple[Json, ...]


@lru_cache(maxsize=512)
def prepare(query: str) -> Prepared:
    """Parse and validate; cached, because the schema is large."""
    try:
        document = parse(query)
    except GraphQLError as error:
        return Prepared(None, (_format_error(error),))
    problems = validate(graphql_schema(), document)
    return Prepared(
        None if problems else document, tuple(_format_error(error) for error in problems)
    )


def serve(world: World, exchange: Exchange) -> Reply:
    """Answer POST /graphql."""
    caller = Caller()
    try:
        caller = auth.identify(world, exchange.headers.get("authorization"))
        auth.require_token(caller)
        world.limits.admit(caller.key, "graphql", write=False)
        status, body, extra = 200, _execute(world, exchange, caller), {}
    except ApiError as error:
        status, body, extra = error.status, error.body, error.headers
    headers = common_headers(world, caller, "graphql") | {"Content-Type": _CONTENT_TYPE} | extra
    reply = Reply(status, headers, json.dumps(body, separators=(",", ":")).encode())
    note(world, exchange, "/graphql", reply, caller)
    _check(world, exchange, reply)
    return reply


def _execute(world: World, exchange: Exchange, caller: Caller) -> Json:
    query, variables = _request(exchange)
    prepared = prepare(query)
    for error in prepared.errors:
        world.journal.break_rule("graphql", error["message"])
    if prepared.document is None:
        return {"errors": list(prepared.errors)}
    context = GraphContext(world, caller)
    result = execute_sync(
        graphql_schema(),
        prepared.document,
        variable_values=variables,
        context_value=context,
        field_resolver=_resolve,
        type_resolver=_type_of,
    )
    return _result(world, result)


def _request(exchange: Exchange) -> tuple[str, Json]:
    try:
        body = json.loads(exchange.body)
        query, variables = body["query"], body.get("variables") or {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ApiError(400, "Problems parsing JSON") from error
    return query, variables


def _resolve(source: Any, info: GraphQLResolveInfo[GraphContext], **arguments: Any) -> object:
    """Resolve a field by the table; a field that is not in it is an error."""
    name = f"{info.parent_type.name}.{info.field_name}"
    resolver = RESOLVERS.get(name) or RESOLVERS.get(f"*.{info.field_name}")
    if resolver is None:
        what = f"the stand-in does not model GraphQL field {name}"
        info.context.world.journal.break_rule("graphql", what)
        raise GraphQLError(what)
    return resolver(info.context, source, arguments)


def _type_of(value: Any, _: GraphQLResolveInfo[GraphContext], __: GraphQLAbstractType) -> str:
    return type_name(value)


def _result(world: World, result: ExecutionResult) -> Json:
    body: Json = {"data": result.data}
    if result.errors:
        body["errors"] = [_format_error(error) for error in result.errors]
        for error in result.errors:
            if error.original_error is not None and not isinstance(
                error.original_error, GraphQLError
            ):
                world.journal.break_rule("graphql", f"{error.path}: {error.message}")
    return body


def _format_error(error: GraphQLError) -> Json:
    """Format an error as GitHub does: its type beside the message."""
    shown: Json = {"message": error.message}
    if error.extensions and "type" in error.extensions:
        shown = {"type": error.extensions["type"], **shown}
    if error.path:
        shown["path"] = error.path
    if error.locations:
        shown["locations"] = [
            {"line": place.line, "column": place.column} for place in error.locations
        ]
    return shown


def _check(world: World, exchange: Exchange, reply: Reply) -> None:
    problems: list[Violation] = []
    if exchange.body not in world.checked_queries:
        # The same bytes were found right before: validating them again would cost milliseconds.
        world.checked_queries.add(exchange.body)
        problems += world.contract.check_request(
            "POST", exchange.path, {}, exchange.headers, exchange.body
        )
    problems += world.contract.check_response(
        "POST", exchange.path, reply.status, reply.headers, reply.body
    )
    if reply.status == 200:
        problems += check_graphql(exchange.body, reply.body)
    for broken in problems:
        world.journal.break_rule(broken.where, broken.what)
