"""Reads the files under `schemas/`; interprets nothing but their formats."""

import json
import lzma
import tomllib
from importlib.resources import files
from typing import Any

_SCHEMAS = files("tests.github") / "schemas"


def read_bytes(name: str) -> bytes:
    """Read a file, and decompress it if its name ends in `.xz`."""
    content = (_SCHEMAS / name).read_bytes()
    return lzma.decompress(content) if name.endswith(".xz") else content


def read_json(name: str) -> Any:
    """Read a file and parse it as JSON."""
    return json.loads(read_bytes(name))


def read_toml(name: str) -> dict[str, Any]:
    """Read a file and parse it as TOML."""
    return tomllib.loads(read_bytes(name).decode())
