"""What GitHub would send and accept, by its own published schemas; see `schemas/NOTICE`."""

from app.demo.standin.contract.checker import Contract
from app.demo.standin.contract.graphql import check_graphql, graphql_schema
from app.demo.standin.contract.routes import Operation
from app.demo.standin.contract.violation import Violation

__all__ = ["Contract", "Operation", "Violation", "check_graphql", "graphql_schema"]
