"""Checks of requests, answers and deliveries against GitHub's published schemas."""

from tests.github.contract.checker import Contract
from tests.github.contract.graphql import check_graphql, graphql_schema
from tests.github.contract.routes import Operation
from tests.github.contract.violation import Violation

__all__ = ["Contract", "Operation", "Violation", "check_graphql", "graphql_schema"]
