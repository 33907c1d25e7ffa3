"""What two versions of a file have to share to mean the same."""

import pytest

from model.patches.normalised_source import MOST_BYTES, normalise_source

CODE = b"def f(a):\n    return 'x  y'\n"


@pytest.mark.parametrize(
    "source",
    [
        b"def f(a):\n\n    return 'x  y'\n\n\n",
        b"def f(a):  # why\n    # because\n    return 'x  y'  \n",
    ],
)
def test_blanks_and_comments_of_python_mean_nothing(source):
    assert normalise_source("a.py", source) == normalise_source("a.py", CODE)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(CODE.replace(b"x  y", b"x y"), id="a string"),
        pytest.param(CODE.replace(b"    ", b"        "), id="indentation"),
        pytest.param(CODE + b'"""\n# text\n"""\n', id="a string that looks like a comment"),
        pytest.param(b"#!/usr/bin/env evil\n" + CODE, id="the interpreter"),
        pytest.param(b"# -*- coding: utf-7 -*-\n" + CODE, id="the encoding"),
        pytest.param(CODE + b"(", id="no Python"),
        pytest.param(CODE + b"# \xff\n", id="no UTF-8"),
        pytest.param(CODE + b"# " + b"x" * MOST_BYTES, id="too long"),
        pytest.param(CODE + b"# \0\n", id="binary"),
    ],
)
def test_what_may_have_a_meaning_counts(source):
    assert normalise_source("a.py", source) != normalise_source("a.py", CODE)


@pytest.mark.parametrize(
    ("text", "source", "is_equal"),
    [
        (b"f();\n", b"\nf();  \n\n", True),
        (b"f();\n", b"  f();\n", False),
        (b"f();\n", b"f(); // why\n", False),
        (b"run a \\\n b\n", b"run a \\ \n b\n", False),
    ],
    ids=["blank lines", "indentation", "a comment", "a joined line"],
)
def test_other_languages_lose_blank_lines_and_blanks_at_line_ends(text, source, is_equal):
    assert (normalise_source("a.js", text) == normalise_source("a.js", source)) is is_equal
