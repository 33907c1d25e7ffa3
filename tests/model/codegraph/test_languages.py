"""The other languages: functions, classes and methods with the names around them."""

from textwrap import dedent

import pytest

from model.codegraph import languages
from tests.model.codegraph import compiled_definitions, web_definitions
from tests.model.codegraph.builders import definitions

CASES = web_definitions.DEFINITIONS | compiled_definitions.DEFINITIONS


@pytest.mark.parametrize("language", CASES)
def test_definitions_of(language):
    text, expected = CASES[language]
    assert definitions(language, dedent(text)) == expected


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
def test_the_suffix_says_the_language(path, language):
    assert languages.detect_language(path) == language


def test_every_language_has_its_grammar_here():
    assert {language for language in CASES if not languages.get_edition(language)} == set()


def test_no_two_callers_have_one_parser():
    """A parser keeps what it is parsing: two threads can't use one."""
    assert languages.create_parser("python") is not languages.create_parser("python")
