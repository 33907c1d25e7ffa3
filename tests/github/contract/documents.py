"""Reads the files under `schemas/`; interprets nothing but their formats."""

import json
import lzma
import tomllib
from importlib.resources import files
from typing import Any

_SCHEMAS = files("tests.github") / "schemas"


def stored_bytes(name: str) -> bytes:
    """The content of one file, decompressed if its name ends in `.xz`."""
    content = (_SCHEMAS / name).read_bytes()
    return lzma.decompress(content) if name.endswith(".xz") else content


def stored_json(name: str) -> Any:
    """The same, parsed."""
    return json.loads(stored_bytes(name))


def stored_toml(name: str) -> dict[str, Any]:
    """The same, parsed as TOML."""
    return tomllib.loads(stored_bytes(name).decode())
