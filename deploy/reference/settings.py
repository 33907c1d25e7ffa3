"""Describe the settings of the bot and of a repository, from the pydantic classes that read them."""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app import settings
from app.settings.loader import Settings
from app.settings.repo_config import NESTED, AlternativesBudget, RepoConfig
from deploy.reference.markdown import build_table, join_lines


def describe_settings() -> Iterator[str]:
    for kind, rows in list_settings():
        yield f"## {kind.__name__.removesuffix('Settings')}\n"
        yield f"{join_lines(kind.__doc__)}\n"
        yield build_table(("variable", "type", "default", "meaning"), rows)


def list_settings() -> Iterator[tuple[type[Settings], list[tuple[str, ...]]]]:
    """Yield each class with the variable, type, default and meaning of its settings that no class before it has."""
    listed: set[str] = set()
    for kind in list_kinds():
        fields = [name for name in kind.model_fields if name not in listed]
        listed.update(fields)
        if fields:
            yield kind, [_describe_setting(kind, name) for name in fields]


def list_kinds() -> list[type[Settings]]:
    """Every class of settings that the bot reads."""
    classes = filter(inspect.isclass, vars(settings).values())
    return [kind for kind in classes if issubclass(kind, Settings)]


def _describe_setting(kind: type[Settings], name: str) -> tuple[str, ...]:
    field = kind.model_fields[name]
    schema = kind.model_json_schema()
    form = _form(schema["properties"][name], schema.get("$defs", {}))
    default = "required" if field.is_required() else _value(field.default)
    return f"`R4P_{name.upper()}`", form, default, _meaning(name)


def _meaning(name: str) -> str:
    """The first text about a field: several classes may share it, and one explains it."""
    fields = (kind.model_fields.get(name) for kind in list_kinds())
    texts = (join_lines(field.description) for field in fields if field)
    return next((text for text in texts if text and not text.startswith("As in ")), "")


def describe_repository() -> str:
    rows = [
        *_list_keys(RepoConfig, ""),
        *(row for name, kind in NESTED.items() for row in _list_keys(kind, f"{name}.")),
    ]
    return build_table(("key", "values", "default", "meaning"), rows)


def _list_keys(kind: type[Any], prefix: str) -> Iterator[tuple[str, ...]]:
    schema = kind.model_json_schema()
    for name, field in kind.model_fields.items():
        form = _form(schema["properties"][name], schema.get("$defs", {}))
        default = "required" if field.is_required() else _value(field.default)
        yield f"`{prefix}{name}`", form, default, join_lines(field.description)


def _form(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """What a value looks like, by its JSON Schema, in a few words."""
    if "anyOf" in schema:
        forms = (one for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(_form(one, definitions) for one in forms))
    if "$ref" in schema:
        return _form(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_form(schema['items'], definitions)}"
    if schema.get("format") in {"password", "path"}:
        return "secret" if schema["format"] == "password" else "path"
    names = {"string": "text", "object": "mapping", "boolean": "`true`, `false`"}
    kind = str(schema.get("type"))
    return names.get(kind, kind) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most, above = (schema.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f", {least} to {most}" if least != most else f", always {least}"
    if least is not None:
        return f", at least {least}"
    return "" if above is None else f", above {above}"


def _value(default: object) -> str:
    """A default as somebody would write it; the home folder is `~`."""
    if default is None or default in ("", ()):
        return "–"
    if isinstance(default, AlternativesBudget):
        return "see below"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return ", ".join(f"`{part}`" for part in default)
    return f"`{str(default).replace(str(Path.home()), '~')}`"
