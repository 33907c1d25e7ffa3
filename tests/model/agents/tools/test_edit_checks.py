"""Indentation that our grammars forgive and Python does not."""

import pytest

from model.agents.tools.edit_checks import check_indentation
from model.codegraph import syntax_check

CODE = b"def f(x):\n    if x:\n        return 1\n    return 2\n"


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (CODE.replace(b"    return 2", b"  return 2"), "line 4: unindent does not match any outer"),
        (CODE.replace(b"        return 1", b"    return 1"), "line 3: expected an indented block after 'if'"),
        (CODE.replace(b"    return 2", b"          return 2"), "line 4: unexpected indent"),
        (CODE.replace(b"    return 2", b"\treturn 2"), "line 4: "),
        (b"def f(x):\nreturn 2\n", "line 2: expected an indented block after function"),
    ],
)  # fmt: skip
def test_broken_indentation_is_reported_with_its_line(after, message):
    assert check_indentation("a.py", CODE, after).startswith(f"a.py, {message}")
    assert check_indentation("a.py", b"", after).startswith(f"a.py, {message}")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", CODE, CODE),
        ("a.txt", CODE, b"if x:\ny\n"),
        ("a.py", b"if x:\ny\n", b"if x:\nz\n"),
        ("a.py", b"print 'two'\nif x:\ny\n", b"print 'two'\nif x:\nz\n"),
        ("a.py", CODE, b"x = (\n"),
        ("a.py", CODE, b"x = 1\0\n"),
        ("a.py", CODE, b"x = '\xff'\n"),
        ("a.py", CODE, b"-" * 200_000 + b"1\n"),
        ("a.py", CODE, b"(" * 5_000),
        ("a.py", CODE, b"x = 1\n" * 200_000 + b" y = 1\n"),
    ],
    ids=["whole", "no Python", "broken before", "another Python", "otherwise", "NUL", "no text", "deep", "nested", "large"],
)  # fmt: skip
def test_other_files_and_errors_are_not_reported(path, before, after):
    assert check_indentation(path, before, after) is None


def test_grammar_alone_accepts_broken_indentation():
    """When it no longer does, this module can go."""
    assert (
        syntax_check.check_syntax("a.py", CODE, CODE.replace(b"    return 2", b"  return 2"))
        is None
    )
