"""Which names an issue gives to somebody who looks them up."""

import pytest

from tests.proofs.names import code, words


def test_every_word_may_be_a_name_but_pythons_own():
    assert words("Halving 3 is off for half_of, for Pies.") == (
        *("Halving", "off", "half_of", "Pies"),
    )


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_names_are_told_by_how_they_are_written(text, found):
    assert list(code(text)) == found


def test_what_is_code_once_is_asked_for_once():
    assert code("half is `half`, and half(3)") == ("half",)
