"""Comparison of GraphQL data with the selection, field by field and type by type (pure)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    GraphQLUnionType,
    InlineFragmentNode,
    SelectionSetNode,
    VariableNode,
)

_JSON_TYPES: dict[str, tuple[type, ...]] = {"Int": (int,), "Float": (int, float)}
"""What numbers are in JSON; every other scalar, GitHub's own included, is a string or a bool."""
_FORMS = {
    "DateTime": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
    "GitObjectID": re.compile(r"[0-9a-f]{40}"),
    "URI": re.compile(r"https?://\S+|/\S*"),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """A request's fragments and variables, to walk its answer with."""

    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]

    @classmethod
    def of(
        cls, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]
    ) -> "Selection":
        """Read the fragments of a valid document."""
        fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        return cls(schema, fragments, variables)

    def object_problems(
        self, kind: GraphQLObjectType, sets: Sequence[SelectionSetNode], value: object, path: str
    ) -> list[str]:
        """List the differences between an object and its selection sets."""
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is not a {kind.name} object"]
        wanted = self._fields(kind, sets)
        problems = [f"{path}/{name}: was not selected" for name in value if name not in wanted]
        for name, nodes in wanted.items():
            place = f"{path}/{name}"
            if name not in value:
                problems.append(f"{place}: was selected but is missing")
            elif nodes[0].name.value == "__typename":
                if value[name] != kind.name:
                    problems.append(f"{place}: {value[name]!r} is not {kind.name!r}")
            else:
                below = [node.selection_set for node in nodes if node.selection_set]
                field = self.schema.get_field(kind, nodes[0].name.value)
                if field is not None:
                    problems += self._problems(field.type, below, value[name], place)
        return problems

    def _problems(
        self, kind: GraphQLOutputType, sets: Sequence[SelectionSetNode], value: object, path: str
    ) -> list[str]:
        if isinstance(kind, GraphQLNonNull):
            if value is None:
                return [f"{path}: null, but the schema says {kind}"]
            kind = kind.of_type
        if value is None:
            return []
        if not isinstance(kind, GraphQLList):
            return self._find_named_problems(kind, sets, value, path)
        if not isinstance(value, list):
            return [f"{path}: {value!r} is not a list"]
        problems: list[str] = []
        for index, item in enumerate(value):
            problems += self._problems(kind.of_type, sets, item, f"{path}/{index}")
        return problems

    def _find_named_problems(
        self, kind: GraphQLOutputType, sets: Sequence[SelectionSetNode], value: object, path: str
    ) -> list[str]:
        if isinstance(kind, GraphQLObjectType):
            return self.object_problems(kind, sets, value, path)
        if isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            return self._abstract_problems(kind, sets, value, path)
        if isinstance(kind, GraphQLEnumType):
            return [] if value in kind.values else [f"{path}: {value!r} is no {kind.name}"]
        return list(_scalar_problems(str(kind), value, path))

    def _abstract_problems(
        self,
        kind: GraphQLInterfaceType | GraphQLUnionType,
        sets: Sequence[SelectionSetNode],
        value: object,
        path: str,
    ) -> list[str]:
        """The value must fit one possible type; `__typename` narrows them down if it was selected."""
        possible = self.schema.get_possible_types(kind)
        if isinstance(value, dict) and "__typename" in value:
            possible = [item for item in possible if item.name == value["__typename"]]
        if not possible:
            return [f"{path}: {value!r} names no type that is a {kind.name}"]
        tried = [self.object_problems(item, sets, value, path) for item in possible]
        return min(tried, key=len)

    def _fields(
        self, kind: GraphQLObjectType, sets: Sequence[SelectionSetNode]
    ) -> dict[str, list[FieldNode]]:
        """The field nodes by response name that apply to the type, fragments spread."""
        fields: dict[str, list[FieldNode]] = {}
        for node in self._spread(kind, sets):
            name = node.alias.value if node.alias else node.name.value
            fields.setdefault(name, []).append(node)
        return fields

    def _spread(
        self, kind: GraphQLObjectType, sets: Sequence[SelectionSetNode]
    ) -> Iterator[FieldNode]:
        for selection in (item for chosen in sets for item in chosen.selections):
            if not self._is_included(selection.directives or ()):
                continue
            if isinstance(selection, FieldNode):
                yield selection
            elif isinstance(selection, InlineFragmentNode | FragmentSpreadNode):
                fragment = (
                    self.fragments[selection.name.value]
                    if isinstance(selection, FragmentSpreadNode)
                    else selection
                )
                if self._applies(fragment, kind):
                    yield from self._spread(kind, [fragment.selection_set])

    def _applies(
        self, fragment: FragmentDefinitionNode | InlineFragmentNode, kind: GraphQLObjectType
    ) -> bool:
        if fragment.type_condition is None:
            return True
        condition = self.schema.get_type(fragment.type_condition.name.value)
        if isinstance(condition, GraphQLInterfaceType | GraphQLUnionType):
            return self.schema.is_sub_type(condition, kind)
        return condition is kind

    def _is_included(self, directives: Sequence[DirectiveNode]) -> bool:
        """Return whether `@include` and `@skip` keep a field."""
        for directive in directives:
            name = directive.name.value
            if name in ("include", "skip") and self._condition(directive) is (name == "skip"):
                return False
        return True

    def _condition(self, directive: DirectiveNode) -> bool:
        value = next(iter(directive.arguments or ())).value
        if isinstance(value, VariableNode):
            return bool(self.variables.get(value.name.value))
        return bool(getattr(value, "value", False))


def _scalar_problems(name: str, value: object, path: str) -> Iterator[str]:
    wanted: tuple[type, ...] = _JSON_TYPES.get(name, (bool if name == "Boolean" else str,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and name != "Boolean"):
        yield f"{path}: {value!r} is no {name}"
    elif name in _FORMS and not _FORMS[name].fullmatch(str(value)):
        yield f"{path}: {value!r} does not look like a {name}"
