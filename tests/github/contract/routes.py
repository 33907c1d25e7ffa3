"""The operation of GitHub's REST API that belongs to a method and a path (pure)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

_GIT = re.compile(r"/(info/refs|git-upload-pack|git-receive-pack)$")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Operation:
    """A REST call: GitHub's name for it, and the values in its path."""

    id: str
    """GitHub's operation id, such as `pulls/get`."""
    method: str
    template: str
    path_params: Mapping[str, str]
    definition: Mapping[str, Any]
    """The OpenAPI operation object."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path template with its methods."""

    template: str
    pattern: re.Pattern[str]
    methods: Mapping[str, Any]


def is_git(path: str) -> bool:
    """Return whether the path belongs to git's smart HTTP, which no API description covers."""
    return _GIT.search(path) is not None


def routes(paths: Mapping[str, Mapping[str, Any]]) -> list[Route]:
    """Build the routes of an OpenAPI `paths` object, those with more fixed text first."""
    routes = [Route(path, _pattern(path, methods), methods) for path, methods in paths.items()]
    return sorted(routes, key=lambda route: -len(_PLACEHOLDER.sub("", route.template)))


def find(candidates: list[Route], method: str, path: str) -> Operation | None:
    """Return the operation, or None if no route has that path and method."""
    for route in candidates:
        match = route.pattern.fullmatch(path)
        definition = route.methods.get(method.lower()) if match else None
        if match and definition is not None:
            params = {name: unquote(value) for name, value in match.groupdict().items()}
            operation_id = definition["operationId"]
            return Operation(operation_id, method.upper(), route.template, params, definition)
    return None


def _pattern(template: str, methods: Mapping[str, Any]) -> re.Pattern[str]:
    shapes = {
        parameter["name"]: _shape(parameter)
        for definition in methods.values()
        for parameter in definition["parameters"]
        if parameter["in"] == "path"
    }
    return re.compile("".join(_pieces(template, shapes)))


def _pieces(template: str, shapes: Mapping[str, str]) -> Iterator[str]:
    position = 0
    for match in _PLACEHOLDER.finditer(template):
        yield re.escape(template[position : match.start()])
        yield f"(?P<{match[1]}>{shapes[match[1]]})"
        position = match.end()
    yield re.escape(template[position:])


def _shape(parameter: Mapping[str, Any]) -> str:
    if parameter.get("x-multi-segment"):
        return ".*"  # the contents of the root folder have an empty path
    return "[0-9]+" if parameter["schema"].get("type") == "integer" else "[^/]+"
