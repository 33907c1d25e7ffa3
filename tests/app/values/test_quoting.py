import re
from html import unescape

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.values.quoting import (
    fence_code,
    is_copyable,
    quote_paragraph,
    quote_phrase,
    show_invisible,
)

OUR_TAGS = re.compile(r"</?(?:p|code|br)(?: /)?>")
LIVE = re.compile(
    r"@[\w-]|(?<![‹])#\d|\bgh-\d|://|\bwww\.|[\w.-]+/[\w.-]+#\d|<[a-z!/]", re.IGNORECASE
)
LIVE_OUTSIDE_CODE = re.compile(
    r"\b[0-9a-f]{7,64}\b|\bghsa(?:-[0-9a-z]{4}){3}|\bcve-\d{4}-\d{4,}|:[\w+-]+:", re.IGNORECASE
)
"""What GitHub makes of plain words: links to commits and advisories, and pictures."""


def render(markdown):
    return cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)


def tags(rendered):
    return re.findall(r"<[^>]*>", OUR_TAGS.sub("", rendered))


def words(text):
    """What a reader sees: no markup, no entities, no break characters, blanks as one."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", text)).replace("\u200b", "").split())


def assert_inert(text, markdown):
    rendered = render(markdown)
    assert tags(rendered) == []
    seen = unescape(OUR_TAGS.sub("", rendered))
    live = [m for m in LIVE.findall(seen) if not m.startswith("<")]
    prose = unescape(OUR_TAGS.sub("", re.sub(r"<code>.*?</code>", " ", rendered, flags=re.DOTALL)))
    live += LIVE_OUTSIDE_CODE.findall(prose)
    assert live == [], (text, rendered)


MENTIONS = ["@mona", "@octo/team", "a@mona", "(@mona)", "@mona's", "&#64;mona", "&#x40;mona"]
MENTIONS += ["&commat;mona", "&amp;#64;mona", "\\@mona", "@\\mona", "@`mona`", "`@mona`", "@*mona*"]
MENTIONS += ["@<!-- -->mona", "@&#109;ona", "**@mona**", "[@mona](x)", "@\u200dmona", "ping @mona."]
REFERENCES = ["#12", "Fixes #12", "fixes: #12", "octo/cat#12", "GH-12", "gh-12", "&#35;12", "\\#12"]
REFERENCES += ["Closes https://github.com/octo/cat/issues/12", "#&#49;2", "(#12)", "`#12`", "x#12"]
REFERENCES += ["closes octo/cat#12", "resolves GH-12", "**#12**", "#12.", "[#12](#12)", "&num;12"]
COMMITS = ["1234567", "DEADBEEF", "see 0123456789abcdef0123456789abcdef01234567.", "a@0123abc4"]
COMMITS += [
    "0123456" * 9,
    "octo/cat@0123456789",
    "0123abc...4567def",
    "&#97;bcdef01",
    "junk00abcdef1",
]
ADVISORIES = ["GHSA-gq4m-8f2v-p3xx", "ghsa-gq4m-8f2v-p3xx", "CVE-2021-42574", "cve-2021-42574"]
PICTURES = [
    ":tada:",
    ":+1:",
    ":white_check_mark:",
    "::tada::",
    "a:100:b",
    ":a:b:",
    "&colon;x&colon;",
]
LINKS = ["https://evil.example", "http://evil.example", "www.evil.example", "WWW.evil.example"]
LINKS += [
    "[x](https://evil.example)",
    "[x][y]\n\n[y]: https://evil.example",
    "<https://evil.example>",
]
LINKS += ["ftp://evil.example", "mailto:a@b.example", "a@b.example", "xmpp:a@b.example", "[x](//e)"]
LINKS += ["[a]: x\n[a]", "[^1]\n\n[^1]: note", "https&#58;//evil.example", "javascript:alert(1)"]
IMAGES = ["![x](https://evil.example/p.png)", "![x][y]\n\n[y]: /z", "<img src=x>", "![](x)"]
HTML = [
    "<script>alert(1)</script>",
    "<b>x</b>",
    "<!-- hidden -->",
    "<a href=x>y</a>",
    "<br>",
    "</td>",
]
HTML += [
    "<details><summary>x</summary>",
    "&lt;img src=x&gt;",
    "<!DOCTYPE html>",
    "<?php ?>",
    "<![CDATA[x]]>",
]
HTML += ["</details>", "<!--\n\n-->", "<svg/onload=x>", "a <b\nc>", "-->", "&#60;img&#62;", "<"]
BLOCKS = ["# title", "title\n===", "title\n---", "- item", "+ item", "* item", "1. item", "1) item"]
BLOCKS += ["> quote", "```\ncode\n```", "~~~\ncode\n~~~", "    code", "\tcode", "---", "***", "___"]
BLOCKS += [
    "| a |\n|---|\n| b |",
    "a\n:-",
    "a | b\n- | -",
    "- [ ] task",
    "a  \nb",
    "a\\\nb",
    "\n\n\n",
]
INLINE = [
    "*em*",
    "**strong**",
    "_em_",
    "__strong__",
    "~~gone~~",
    "`code`",
    "``a`b``",
    "`",
    "``",
    "\\",
]
INLINE += [
    "`a`b`c`",
    "a\\`b`",
    "`a\\`",
    "$x$",
    "$$x$$",
    "&copy;",
    "&nosuch;",
    "&",
    "*",
    "_",
    "\\*x\\*",
]
INLINE += ["`<b>`", "` `", "`@mona #12`", "``@mona``", "a`b", "`a`@mona`b`", "`a\nb`", "\\\\`x`"]
UNSEEN = [
    "\u202eevil",
    "a\u200bb",
    "a\ufeffb",
    "\U000e0041\U000e0042",
    "\u2066x\u2069",
    "a\0b",
    "\x1b[31mred",
]
UNSEEN += [
    "\ud800",
    "\u3164",
    "\ufe00",
    "&#x202e;x",
    "&#0;",
    "\x07",
    "a\u2028b",
    "a\rb",
    "a\r\nb",
    "\u00ad",
]
HOSTILE = MENTIONS + REFERENCES + COMMITS + ADVISORIES + PICTURES + LINKS + IMAGES + HTML + BLOCKS
HOSTILE += INLINE + UNSEEN


def test_there_are_enough_hostile_texts_and_no_two_are_equal():
    assert len(HOSTILE) == len(set(HOSTILE)) >= 100


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_hostile_comes_alive(text):
    assert_inert(text, quote_paragraph(text, 1000))
    assert_inert(text, quote_phrase(text, 1000))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_hostile_comes_alive_behind_other_words(text):
    assert_inert(text, quote_paragraph(f"see\n{text}\nand {text}", 1000))
    assert_inert(text, f"| a |\n|---|\n| {quote_phrase(text, 1000)} |".split("\n")[2])


fragments = st.lists(
    st.sampled_from([*HOSTILE, " ", "\n", "mona", "1", "a", "`", "\\", "@", "#", "&", ";"]),
    max_size=8,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(fragments | st.text(max_size=80))
@example("`a\\`@mona")
@example("&`#64;mona`")
def test_no_mixture_comes_alive_and_nothing_is_lost(text):
    assert_inert(text, quote_paragraph(text, 10_000))
    assert_inert(text, quote_phrase(text, 10_000))
    shown = words(render(quote_phrase(text, 10_000)))
    assert shown == " ".join(show_invisible(unescape(text)).split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a‹U+202E›b"),
        ("a\u200bb", "a‹U+200B›b"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ufe00", "‹U+FE00›"),
        ("\ud800", "‹U+D800›"),
        ("a\0", "a‹U+0000›"),
        ("tab\tr\rn", "tab    r\nn"),
        ("ok ⚠️ é 日本", "ok ⚠️ é 日本"),
    ],
)
def test_an_invisible_character_is_shown_by_its_code_point(text, shown):
    assert show_invisible(text) == shown


def test_code_stays_readable_as_code():
    code = "returns `None` for `[]`, `x[a:b:c]` and `0123456789abcdef`"
    assert quote_paragraph(code, 100) == code


def test_long_text_is_cut_with_an_ellipsis():
    assert quote_paragraph("abc def", 5) == "abc…"
    assert quote_phrase("abc", 3) == "abc"


@pytest.mark.parametrize("text", ["", "a\tb\n", "naïve – “x” 日本 🙂\n", "`" * 9, " \n  \n"])
def test_a_visible_text_can_be_copied(text):
    assert is_copyable(text)


@pytest.mark.parametrize(
    "odd", ["\r\n", "\0", "\u200b", "\u202e", chr(0xD800), "\ufeff", "\ufffd", "\x85", "\u3164"]
)
def test_a_text_with_invisible_characters_cannot_be_copied(odd):
    assert not is_copyable(f"a{odd}b")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["`", "```", "~~~", "\n", " ", "\t", "<b>", "@mona", "</details>", "x", "- "]
        )
    ).map("".join)
)
@example("```\n")
@example(" ````\n@mona")
def test_nothing_ends_a_code_block_from_within(text):
    rendered = render(f"before\n\n{fence_code(text, 'diff')}\n\nafter")
    whole = re.fullmatch(
        r"<p>before</p>\n<pre[^>]*><code[^>]*>(.*)</code></pre>\n<p>after</p>\n",
        rendered,
        re.DOTALL,
    )
    assert unescape(whole[1]) == text + ("" if text.endswith("\n") else "\n")
