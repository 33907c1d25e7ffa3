"""SEARCH/REPLACE: read strictly, written alike, applied all or none, and undone by their reverse."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model.agents.agentless.search_replace import (
    EditError,
    SearchReplaceEdit,
    apply,
    escape_file,
    parse,
    render,
)
from model.errors import MalformedEdit

FILE = "def a():\n    return 1\n\n\ndef b():\n    return 1\n"


def format_block(search, replace, *, path="a.py"):
    return f"### {path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def apply_reply(reply, files=None):
    return apply(parse(reply), {"a.py": FILE} if files is None else files)


def test_edits_are_parsed_among_prose_thought_and_fences():
    reply = (
        "<think>First\n### a.py\n<<<<<<< SEARCH\nno</think>\n\nThe sum is off.\n\n"
        "### Not the path\n\n```python\n"
        + format_block("def a():\n    return 1\n", "def a():\n    return 2\n")
        + "```\nAnd once more:\n"
        + format_block("def b():\n", "", path="b.py")
        + "Title\n=======\nDone."
    )
    assert parse(reply) == (
        SearchReplaceEdit("a.py", ("def a():", "    return 1"), ("def a():", "    return 2")),
        SearchReplaceEdit("b.py", ("def b():",), ()),
    )


def test_path_counts_for_all_blocks_below_it():
    second = format_block("def b():\n", "def d():\n").partition("\n")[2]
    assert apply_reply(format_block("def a():\n", "def c():\n") + second) == {
        "a.py": "def c():\n    return 1\n\n\ndef d():\n    return 1\n"
    }


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        ("I would change nothing.", "no_edit", "write one from"),
        ("", "no_edit", "no block"),
        (format_block("x\n", "y\n").partition("\n")[2], "no_path", "'### its/path'"),
        ("<think>hm " + format_block("x\n", "y\n"), "unfinished", "within its thought"),
        ("### a.py\n<<<<<<< SEARCH\nx\n", "unfinished", "'a.py' ends before '======='"),
        ("### a.py\n<<<<<<< SEARCH\nx\n=======\ny", "unfinished", "before '>>>>>>> REPLACE'"),
        ("### a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "stray_marker", "where '=======' bel"),
        ("### a.py\n<<<<<<< SEARCH\n<<<<<<< SEARCH\n", "stray_marker", "'<<<<<<< SEARCH' stands"),
        (format_block("x\n=======\n", "y\n"), "stray_marker", "'=======' stands where '>>>>>>> REPLACE'"),
        (">>>>>>> REPLACE\n", "stray_marker", "closes no block"),
        (format_block("", "y\n"), "empty_search", "repeat one that stands beside"),
        (format_block("def a():\n", "def a():\n"), "no_change", "by themselves"),
        (format_block("x\n", "y\n", path="b.py"), "unknown_file", "'b.py' was not shown; edit one of a.py"),
        (format_block("x\n", "y\n"), "not_found", "from 'x' on"),
        (format_block("def a():\n", "def c():\n") + format_block("x\n", "y\n"), "not_found", "from 'x' on"),
        (format_block("return 1\n", "y\n"), "not_found", "exactly those"),
        (format_block("    return\n", "y\n"), "not_found", "exactly those"),
        (format_block("    return 1\n", "y\n"), "ambiguous", "2 places of 'a.py', at lines 2 and 6"),
        (format_block("def a():\n    return 1\n", "x\n") + format_block("    return 1\n\n", "y\n"), "overlap", "change line 2"),
    ],
)  # fmt: skip
def test_reply_without_a_patch_is_refused_with_the_reason(reply, kind, message):
    with pytest.raises(MalformedEdit, match=message) as caught:
        apply_reply(reply)
    assert caught.value.kind == EditError(kind)


def test_edits_that_undo_each_other_are_refused():
    with pytest.raises(MalformedEdit, match="together change nothing") as caught:
        apply_reply(format_block("a\n", "") + format_block("b\n", "a\nb\n"), {"a.py": "a\nb\n"})
    assert caught.value.kind == EditError.NO_CHANGE


def test_order_of_edits_does_not_matter():
    one, two = format_block("def a():\n", "def b():\n"), format_block("def b():\n", "def a():\n")
    swapped = FILE.replace("def a", "def c").replace("def b", "def a").replace("def c", "def b")
    assert apply_reply(one + two) == apply_reply(two + one) == {"a.py": swapped}


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        ("a\r\nb\r\n", "a\n", "x\ny\n", "x\r\ny\r\nb\r\n"),
        ("a\nb", "b\n", "x\ny\n", "a\nx\ny"),
        ("a\r\nb", "b\n", "x\ny\n", "a\r\nx\r\ny"),
        ("a", "a\n", "x\ny\n", "x\ny"),
        ("a\nb", "b\n", "", "a\n"),
        ("a\nb", "b\n", "\n", "a\n\n"),
        ("a\n\nb\n", "\n", "x\n", "a\nx\nb\n"),
    ],
    ids=[
        "dos",
        "no end",
        "dos, no end",
        "one line, no end",
        "the last deleted",
        "the last blanked",
        "a blank line",
    ],
)
def test_edit_keeps_the_line_ends_of_the_file(before, search, replace, after):
    assert apply_reply(format_block(search, replace), {"a.py": before}) == {"a.py": after}


def test_reply_with_dos_line_ends_is_parsed():
    assert apply_reply(format_block("def a():\n", "def c():\n").replace("\n", "\r\n"))[
        "a.py"
    ].startswith("def c():\n")


def test_copied_line_of_an_escaped_file_is_found():
    text = "T\n=======\n</patch-source-1>\na\rb\r\n>>>>>>> REPLACE\n"
    seen = escape_file(text)
    assert seen.split("\n") == [
        "T",
        "⟦U+003D⟧======",
        "⟦U+003C⟧/patch-source-1>",
        "a⟦U+000D⟧b",
        "⟦U+003E⟧>>>>>> REPLACE",
        "",
    ]
    assert apply_reply(format_block(seen, "x\n"), {"a.py": text}) == {"a.py": "x\n"}


LINE = st.text(max_size=6).map(lambda line: line.replace("\n", "")) | st.sampled_from(
    [
        "",
        "a",
        "b",
        "=======",
        "<<<<<<< SEARCH",
        ">>>>>>> REPLACE",
        "### x",
        "</think>",
        "⟦U+003D⟧",
        "\r",
    ]
)
LINES = st.lists(LINE, max_size=4).map(tuple)
PATH = st.text("ab/._-é⟦U+", min_size=1, max_size=9)


@given(
    st.lists(st.builds(SearchReplaceEdit, PATH, LINES.filter(bool), LINES), min_size=1, max_size=3)
)
def test_rendered_edits_are_parsed_back(edits):
    assume(all(edit.search != edit.replace for edit in edits))
    assert parse(render(edits)) == tuple(edits)


@given(LINES, LINES, LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_reversed_edit_restores_the_file(before, search, replace, after, end, ended):
    assume(ended or after or replace[-1:] != ("",))  # a blank last line can't lack its end
    text = end.join([*before, *search, *after]) + (end if ended else "")
    # a replaced line that ended "\r\n" among "\n" takes its own ending along
    assume(end == "\r\n" or not any(line.endswith("\r") for line in (*search, *replace)))
    files = {"a": text, "b": "x\n"}
    edit, back = SearchReplaceEdit("a", search, replace), SearchReplaceEdit("a", replace, search)
    try:
        done = apply(parse(render([edit])), files)
        assume(end in done["a"] or end == "\n")  # a text of one line no longer tells how lines end
        undone = apply(parse(render([back])), files | done)
    except MalformedEdit as error:
        assume(error.kind in {"empty_search", "no_change", "not_found", "ambiguous"})
        return
    assert undone == {"a": text}
    assert done["a"] != text


@given(st.text(min_size=1))
def test_whole_escaped_file_is_found(text):
    lines = escape_file(text).removesuffix("\n")
    assume(text.rstrip("\r\n") != "new")
    (after,) = apply_reply(format_block(f"{lines}\n", "new\n"), {"a.py": text}).values()
    assert after.rstrip("\r\n") == "new"
