"""An edit may leave a file as broken as it was, and no more."""

import pytest

from model.codegraph import syntax_check

GOOD = "def f(x):\n    return x\n"
VALID = "def f(x, a):\n    return a, *(x if x else a)\n"
"""Python takes it, the grammar of tree-sitter doesn't."""


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", GOOD, GOOD.replace("return x", "return -x")),
        ("a.py", "", ""),
        ("a.py", "def f(:\n    pass\n", "def f():\n    pass\n"),
        ("a.py", "x = (\n", "# moved\nx = (\n"),
        ("a.txt", "x", "((("),
        ("a.py", GOOD, "def f(x, a):\n    return a, *(x if x else a)\n"),
        ("a.py", GOOD, "(\0"),
        ("a.json", "{}", "{"),
        ("a.ts", "let a: number = 1;", "let a: string = '';"),
    ],
)
def test_edit_that_breaks_nothing_passes(path, before, after):
    assert syntax_check.check_syntax(path, before.encode(), after.encode()) is None


@pytest.mark.parametrize(
    ("path", "before", "after", "where"),
    [
        ("a.py", GOOD, "def f(x:\n    return x\n", "a.py, line 1"),
        ("a.py", GOOD, "def f(x):\n    return (x\n", "a.py, line "),
        ("a.py", GOOD, "def f(x):\nreturn x]\n", "a.py, line 2"),
        ("a.py", GOOD + "y = (\n", "def f(x:\n    return x\ny = (\n", "a.py, line 1"),
        ("a.py", VALID, f"{VALID}y = (\n", "a.py, line 3"),
        ("a.js", "f();", "f(;", "a.js, line 1"),
        ("a.ts", "let a: number = 1;", "let a: = 1;", "a.ts, line 1"),
        ("a.tsx", "<a/>;", "<a>;", "a.tsx, line 1"),
        ("A.java", "class A {}", "class A {", "A.java, line 1, column 10: '}' is missing: class A {"),
        ("a.go", "package a\n", "package a\nfunc (", "a.go, line 2"),
        ("a.rs", "fn a() {}", "fn a( {}", "a.rs, line 1"),
        ("a.c", "int a;", "int a", "a.c, line 1"),
        ("a.cpp", "class A {};", "class A { int };", "a.cpp, line 1"),
    ],
)  # fmt: skip
def test_broken_syntax_is_reported_with_its_place(path, before, after, where):
    message = syntax_check.check_syntax(path, before.encode(), after.encode())
    assert message is not None
    assert message.startswith(where)


def test_long_line_is_shown_in_part():
    message = syntax_check.check_syntax("a.py", b"x = 1\n", b"x = [" + b"1, " * 100 + b"\n")
    assert message is not None
    assert len(message) < 150


def test_language_without_a_grammar_passes(monkeypatch):
    monkeypatch.setattr(syntax_check, "get_edition", lambda language: None)
    assert syntax_check.check_syntax("A.java", b"class A {}", b"class A {") is None
