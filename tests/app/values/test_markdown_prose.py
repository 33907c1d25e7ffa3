import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.markdown_prose import list_paragraph_lines, strip_quotes_and_code


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("plain words", "plain words"),
        ("# A heading\n\n- an item\n- another", "A heading\nan item\nanother"),
        ("before\n\n> quoted\n> more\n\nafter", "before\nafter"),
        ("> > deep\n\nout", "out"),
        ("```\ncode\n```\nout", "out"),
        ("    indented code", ""),
        ("a `code` b", "a \ufffc b"),
        ("a <!-- hidden --> b", "a \ufffc b"),
        ("<!-- hidden\nmore -->\n\nout", "out"),
        (r"an escaped \#12", "an escaped \ufffc12"),
        ("a reference &#35;12", "a reference \ufffc12"),
        ("[text](https://example.org) end", "\ufffctext\ufffc end"),
        ("one  \ntwo", "one\ntwo"),
        ("| a |\n|---|\n| b |", "| a |\n|---|\n| b |"),
        ("[//]: # (hidden)\nshown", "shown"),
        ("[text][label]", "[text][label]"),
    ],
)
def test_only_what_was_said_in_plain_text_is_heard(text, prose):
    assert strip_quotes_and_code(text) == prose


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\ntwo", ["one", "two"]),
        ("# heading\n\npara", ["para"]),
        ("- item\nlazy\n\npara", ["para"]),
        ("> quote\nlazy\n\npara", ["para"]),
        ("[a link](x) and more", []),
        ("**bold** start", []),
        ("*em*\nplain", ["plain"]),
        ("`code` start\nplain", ["plain"]),
        ("a `span\nover lines` b", ["a span over lines b"]),
        ("text <!--\nhidden\n-->", ["text <!--\nhidden\n-->"]),
        ("a **b** `c` <d> [e](f)", ["a b c <d> e"]),
        (r"\/r4p verify", []),
        ("out\nhead | head\n--- | ---\ncell | cell\nlast", ["out"]),
        ("a | b\n--", []),
        ("a\n- | -", ["a"]),
    ],
)
def test_a_line_counts_when_it_begins_with_plain_text_in_a_paragraph(text, lines):
    assert [line for line in list_paragraph_lines(text) if line] == lines


@given(st.text(alphabet="ab`*_[]()<>!-#>\\&;| \n\t\0\ud800", max_size=60))
def test_no_text_is_too_strange_to_be_read(text):
    said = [strip_quotes_and_code(text), *list_paragraph_lines(text)]
    assert "\0" not in "".join(said)
