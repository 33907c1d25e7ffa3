"""Each language: functions, classes and methods with the names around them."""

from collections import defaultdict
from textwrap import dedent

import pytest

from model.codegraph import languages
from tests.model.codegraph.builders import list_definitions
from tests.model.codegraph.language_definitions import DEFINITIONS


@pytest.mark.parametrize("language", DEFINITIONS)
def test_reader_lists_the_definitions_of_a_language(language):
    text, expected = DEFINITIONS[language]
    names = defaultdict(list)
    for construct, name, first, last in list_definitions(language, dedent(text)):
        names[construct].append(f"{name} {first}" if first == last else f"{name} {first}-{last}")
    assert {construct: ", ".join(each) for construct, each in names.items()} == expected


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("b.PYI", "python"),
        ("x.tsx", "tsx"),
        ("x.d.ts", "typescript"),
        ("x.c", "c"),
        ("x.h", "cpp"),
        ("x.hpp", "cpp"),
        ("Makefile", None),
        ("py", None),
        (".py", None),
    ],
)
def test_suffix_decides_the_language(path, language):
    assert languages.detect_language(path) == language


def test_each_caller_gets_its_own_parser():
    """A parser keeps what it is parsing: two threads can't use one."""
    assert languages.create_parser("python") is not languages.create_parser("python")
