"""Python's own parser has the last word on Python."""

import pytest

from model.codegraph import definition_reader
from model.codegraph.definition_reader import is_valid_python

VALID = b"def f(x, a):\n    return a, *(x if x else a)\n"


@pytest.mark.parametrize(
    ("content", "valid"),
    [
        (VALID, True),
        (b"\xef\xbb\xbfx = 1\r\n", True),
        (b"# coding: latin-1\nx = '\xe9'\n", True),
        (rb"x = '\d'", True),
        (b"def f(:\n", False),
        (b"x = 1\0", False),
        (b"# coding: no-such\n", False),
        (b"x = '\xe9'\n", False),
        (b"(" * 5_000 + b")" * 5_000, False),
        (b"-" * 200_000 + b"1", False),
        (b"x" + b".a" * 100_000, False),
    ],
)
def test_valid_python_is_what_python_compiles(content, valid):
    assert is_valid_python(content) is valid


def test_python_file_that_compiles_is_not_broken():
    assert not definition_reader.read_definitions("python", VALID).broken
    assert definition_reader.read_definitions("python", VALID + b"def g(:\n").broken
    assert definition_reader.read_definitions("javascript", VALID).broken
