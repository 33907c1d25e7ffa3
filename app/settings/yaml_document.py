"""Reads a small YAML mapping from a stranger, without tags and aliases, and with line numbers (pure).

Every scalar is text except null and plain decimal numbers. So `no`, `1:30` and `2026-03-01` stay as they are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

MAX_CHARACTERS = 65_536
_MAX_DEPTH = 8
_MAX_EVENTS = 5_000
_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)

Value = None | int | str | list["Value"] | dict[str, "Value"]


class RefusedError(ValueError):
    """A YAML text is not an allowed mapping. `line` counts from 1; None: the error is about the whole text."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML mapping, and the line numbers of its keys and items."""

    values: Mapping[str, Value]
    _root: yaml.MappingNode

    def find_line(self, key: str | int, item: str | int | None = None) -> int:
        """Return the line, from 1, of the key `key`, or of `item` inside its value.

        `item` is an index in a list, or a key in a mapping. The result is the line of `key` if there is no such item.
        """
        name, value = next(pair for pair in self._root.value if pair[0].value == key)
        if isinstance(value, yaml.SequenceNode) and isinstance(item, int):
            return _get_line(value.value[item])
        inner = value.value if isinstance(value, yaml.MappingNode) else []
        return _get_line(next((inside for inside, _ in inner if inside.value == item), name))


def read_document(text: str) -> Document:
    """Parse a YAML text whose top level is a mapping, such as `.github/r4p.yml`.

    Raises RefusedError for any other text, and for YAML that is not allowed: tags, aliases, deep or large documents.
    """
    if len(text) > MAX_CHARACTERS:
        raise RefusedError(f"the file is longer than {MAX_CHARACTERS} characters")
    try:
        _check_events(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        raise RefusedError(f"not YAML: {problem}", mark.line + 1 if mark else None) from None
    if not isinstance(node, yaml.MappingNode):
        raise RefusedError("the file holds no settings: begin with `version: 1`")
    return Document(_read_mapping(node), node)


def _check_events(text: str) -> None:
    """Limit depth, size and aliases before `yaml.compose`, which is recursive. Raises RefusedError."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        depth += isinstance(event, CollectionStartEvent)
        depth -= isinstance(event, CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, AliasEvent):
            raise RefusedError("aliases (`*name`) are not allowed: write the value out", line)
        if depth > _MAX_DEPTH:
            raise RefusedError(f"nested more than {_MAX_DEPTH} levels deep", line)
        if count > _MAX_EVENTS:
            raise RefusedError("too many entries", line)


def _read_mapping(node: yaml.MappingNode) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RefusedError("a key must be a word", _get_line(key))
        if key.value in values:
            raise RefusedError(f"`{key.value[:40]}` is set twice", _get_line(key))
        values[key.value] = _read_value(value)
    return values


def _read_value(node: yaml.Node) -> Value:
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _read_mapping(node)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_read_value(item) for item in node.value]
    if not isinstance(node, yaml.ScalarNode) or "/" in kind or kind.startswith(("!", "tag:")):
        raise RefusedError(f"the tag `{kind[:40]}` is not allowed", _get_line(node))
    if kind == "null":
        return None
    text = str(node.value)
    return int(text) if kind == "int" and _DECIMAL.fullmatch(text) else text


def _get_line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
