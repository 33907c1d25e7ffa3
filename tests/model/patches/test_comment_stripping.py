"""Comments and docstrings are removed by language; strings and ambiguous lines stay."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.patches.comment_stripping import strip_comments


@pytest.mark.parametrize(
    ("path", "line", "code"),
    [
        ("a.py", "x = 1  # it's", "x = 1"),
        ("a.py", "x = #'", "x ="),
        ("a.py", 'x = \'a # b\' + "# c"  # d "e"', "x = 'a # b' + \"# c\""),
        ("a.py", r"x = 'it\'s # no'", r"x = 'it\'s # no'"),
        ("a.py", 'x = """a # b"""', 'x = """a # b"""'),
        ("a.py", "x = a // b", "x = a // b"),
        ("a.PYI", "# all", ""),
        ("Makefile", "all: b  # it's", "all: b"),
        ("a.rb", 'puts "#{x}" # "y"', 'puts "#{x}"'),
        ("a.sh", "echo ${x#y} $#", "echo ${x#y} $#"),
        ("a.js", "x = 1; // it's", "x = 1;"),
        ("a.ts", "u = 'http://x' // y", "u = 'http://x'"),
        ("a.ts", "u = `http://${x}`", "u = `http://${x}`"),
        ("a.js", "r = /[//]'/.test(evil())", "r = /[//]'/.test(evil())"),
        ("a.c", "a = 1; /* b */ c();  // d", "a = 1;   c();"),
        ("a.c", "#include <x>", "#include <x>"),
        ("a.c", "c = '\"'; // a", "c = '\"';"),
        ("a.rs", "fn f<'a>(x: &'a str) // it's", "fn f<'a>(x: &'a str)"),
        ("a.css", "#a { b: url(//c) } /* d */", "#a { b: url(//c) }"),
        ("a.sql", "select '--' -- it's", "select '--'"),
        ("a.lua", "--[[ a ]] b() -- c", "  b()"),
        ("a.html", "<p><!-- it's --></p>", "<p> </p>"),
        ("a.unknown", "x # y // z", "x # y // z"),
    ],
)
def test_comment_outside_a_string_is_removed(path, line, code):
    assert strip_comments(path, [line]) == [code]


DOCSTRING = ["def f():", '    """New.', "    more", '    """', "    evil()"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (DOCSTRING, ["def f():", "", "", "", "    evil()"]),
        (["def f():", "    '''", "    more", "    '''"], ["def f():", "", "", ""]),
        (['    """Said."""  # x', "y"], ["", "y"]),
        (["x = f(", '    """', "    # kept"], ["x = f(", '    """', ""]),
        (["x = '''", "# kept", "'''"], ["x = '''", "# kept", "'''"]),
        (['f"""{evil()}"""'], ['f"""{evil()}"""']),
        (['"""said""" + evil()'], ['"""said""" + evil()']),
    ],
)
def test_docstring_is_removed_and_other_strings_stay(lines, code):
    assert strip_comments("a.py", lines) == code


@pytest.mark.parametrize(
    "lines",
    [
        ['    """New.', "evil()"],
        ["'''", "evil()"],
        ["text", '"""', "evil()", '"""Doc."""'],
        ['text."""', "evil()", "def g():", '    """Doc."""'],
        ['"""or evil()'],
        ['"""; evil(); """'],
        ['"""Doc', "'''", "evil()", '"""'],
    ],
)
def test_ambiguous_lines_at_hunk_edges_count_as_code(lines):
    assert any("evil()" in line for line in strip_comments("a.py", lines))


def test_three_quotes_open_a_docstring_at_the_top_of_a_file():
    lines = ["# licence", '"""', "Says.", '"""', "x"]
    assert strip_comments("a.py", lines, top=True) == ["", "", "", "", "x"]
    assert "Says." in strip_comments("a.py", lines)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["/* a", "b", "*/ c()"], ["", "", " c()"]),
        (["/* a", "b()"], ["", "b()"]),
        ([" * old", " *", " */ c()", " * d"], ["", "", " c()", " * d"]),
        (["a", "* b"], ["a", "* b"]),
        ([" * a", " *", " * b"], ["", "", ""]),
    ],
)
def test_block_comment_ends_at_its_mark_or_its_line(lines, code):
    assert strip_comments("a.java", lines) == code


@given(
    st.lists(st.text(alphabet="\"'#/*`\\ :ax{-}<!>")),
    st.sampled_from(["a.py", "a.js", "a.c", "a.sql", "a.lua", "a.hs", "a.html"]),
    st.booleans(),
)
def test_stripping_keeps_the_number_of_lines_and_adds_no_text(lines, path, top):
    stripped = strip_comments(path, lines, top=top)
    assert len(stripped) == len(lines)
    for line, code in zip(lines, stripped, strict=True):
        rest = iter(line)
        assert all(sign == " " or sign in rest for sign in code)


@pytest.mark.parametrize(
    "lines",
    [
        ["/*"] * 9_000,
        ['"""x', "'''y"] * 9_000,
        ['"' + '\\"' * 9_000],
        ["=/[" * 9_000],
        ["'\""] * 9_000,
    ],
)
def test_stripping_takes_linear_time(lines):
    started = time.process_time()
    for path in ("a.py", "a.js", "a.c"):
        strip_comments(path, lines)
    assert time.process_time() - started < 2
