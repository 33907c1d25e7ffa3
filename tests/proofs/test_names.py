"""Which names an issue gives to somebody who looks them up."""

import pytest

from tests.proofs.names import code, words


def test_every_word_except_keywords_is_a_name():
    assert words("Halving 3 is off for half_of, for Pies.") == (
        *("Halving", "off", "half_of", "Pies"),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Call half(3) twice", ["half"]),
        ("Call maths.half twice", ["maths", "half"]),
        ("The `half` of it", ["half"]),
        ("Look:\n\n    pie = cut\n\nso", ["pie", "cut"]),
        (">>> pie\nso", ["pie"]),
        ("```\npie\n```\nso", ["pie"]),
        ('  File "pie.py", line 3, in cut\nso', ["pie", "py", "cut"]),
        ("A QuerySet of half_pies by URLField", ["QuerySet", "half_pies", "URLField"]),
        ("Nothing of the kind, in Short.", []),
        ("y() of a date", ["y"]),
    ],
)
def test_code_names_are_recognised_by_their_spelling(text, names):
    assert list(code(text)) == names


def test_repeated_name_is_listed_once():
    assert code("half is `half`, and half(3)") == ("half",)
