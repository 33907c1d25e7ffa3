"""Describe each problem of a repository's settings file with its line, the value and the fix (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from app.settings.yaml_document import Document
from app.values.text_matching import find_nearest


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in a repository's settings file `.github/r4p.yml`."""

    line: int | None
    """Line of the problem, from 1; None: the whole file."""
    message: str

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def describe_problem(
    detail: ErrorDetails,
    document: Document,
    config: type[BaseModel],
    nested: Mapping[str, type[BaseModel]],
) -> Problem:
    """Return the problem that pydantic found in `document`, with its line and the fix.

    `config` is the model of the whole file, and `nested` the models of the keys that have keys of their own.
    """
    place = detail["loc"]
    key = str(place[0])
    if detail["type"] == "missing" and len(place) == 1:
        return Problem(None, f"`{key}` is missing: add `{key}: 1`")
    if detail["type"] == "missing":
        why = f"`{key}.{place[1]}` is missing: {_expect(place, config)}"
        return Problem(document.find_line(key), why)
    line = document.find_line(*place)
    if detail["type"] == "extra_forbidden":
        *outer, unknown = map(str, place)
        fields = (nested[outer[0]] if outer else config).model_fields
        return Problem(line, f"unknown key `{unknown[:40]}`{_suggest(unknown, list(fields))}")
    name = f"{key}.{place[1]}" if key in nested and len(place) > 1 else key
    if detail["type"] == "value_error":
        return Problem(line, f"`{name}`: {detail['ctx']['error']}")
    return Problem(line, f"`{name}` can't be {_show(detail['input'])}: {_expect(place, config)}")


def _suggest(key: str, keys: list[str]) -> str:
    near = find_nearest(key, keys)
    if near is None:
        return f": the keys are {', '.join(keys)}"
    return f": did you mean `{near}`?"


def _show(value: object) -> str:
    match value:
        case None:
            return "empty"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a mapping"
        case _:
            text = str(value)
            return f"`{text[:40]}…`" if len(text) > 40 else f"`{text}`"


def _expect(place: tuple[int | str, ...], config: type[BaseModel]) -> str:
    schema = config.model_json_schema()
    field = schema["properties"][place[0]]
    options = field.get("anyOf", [field])
    if len(place) > 1 and "$ref" in options[0]:
        inner = _find_definition(options[0], schema)
        if "properties" in inner:
            options = [inner["properties"][place[1]]]
    return " or ".join(_form(option, schema) for option in options if option.get("type") != "null")


def _form(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """Describe one form of a value."""
    if "$ref" in field:
        kind = _find_definition(field, schema)
        if "enum" in kind:
            return f"choose {_join_choices(kind['enum'])}"
        return f"give a mapping of {_join_choices(list(kind['properties']), 'and')}"
    if field["type"] == "boolean":
        return "choose `true` or `false`"
    if field["type"] == "integer":
        least, most = field["minimum"], field["maximum"]
        return f"give {least}" if least == most else f"give a whole number from {least} to {most}"
    if field["type"] == "string":
        return _describe_text(field)
    return _describe_list(field, schema)


def _describe_text(field: dict[str, Any]) -> str:
    if "pattern" in field:
        return "give a name of letters, digits, `.`, `_` and `-`, of up to 64 characters"
    return f"give a text of up to {field['maxLength']} characters"


def _describe_list(field: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in field["items"]:
        return f"give a list of {_join_choices(_find_definition(field['items'], schema)['enum'])}"
    longest = field["items"]["maxLength"]
    return f"give a list of at most {field['maxItems']} texts, each up to {longest} characters"


def _find_definition(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return dict(schema["$defs"][str(field["$ref"]).rpartition("/")[2]])


def _join_choices(choices: list[str], last: str = "or") -> str:
    *most, end = (f"`{choice}`" for choice in choices)
    return f"{', '.join(most)} {last} {end}" if most else end
