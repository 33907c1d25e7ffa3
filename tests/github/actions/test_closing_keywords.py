"""Texts that close or mention issues: keywords in every spelling, and texts that do not count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.github.actions.closing_keywords import Reference, find_closing_references, find_mentions

HERE = "acme/tool"


@pytest.mark.parametrize(
    "keyword",
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"],
)
@pytest.mark.parametrize("form", ["{} #7", "{}: #7", "{} acme/tool#7", "{} GH-7"])
def test_every_keyword_closes_in_every_form(keyword, form):
    for word in (keyword, keyword.upper(), keyword.capitalize()):
        assert find_closing_references(form.format(word), HERE) == (Reference(HERE, 7),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see #7",
        "fixing #7",
        "prefixes #7",
        "fixes 7",
        "fixes#7",
        "fixes #x",
        "`fixes #7`",
        "```\nfixes #7\n```",
        "```\nfixes #7",
        "<!-- fixes #7 -->",
        "<!-- fixes #7",
    ],
)
def test_this_closes_nothing(text):
    assert find_closing_references(text, HERE) == ()


def test_the_keyword_is_needed_before_each_issue():
    text = "Fixes #1, #2 and closes #3, resolves other/repo#4; fixes #1"
    expected = (Reference(HERE, 1), Reference(HERE, 3), Reference("other/repo", 4))
    assert find_closing_references(text, HERE) == expected


def test_a_url_closes_too():
    text = "Fixes http://127.0.0.1:80/Acme/Tool/issues/12"
    assert find_closing_references(text, HERE) == (Reference(HERE, 12),)


def test_mentions_are_found_with_and_without_a_keyword():
    text = "Fixes #1, see (#2), other/repo#3, https://h/a/b/pull/4 but not a#5 or &#39; or `#6`"
    expected = (
        Reference(HERE, 1),
        Reference(HERE, 2),
        Reference("other/repo", 3),
        Reference("a/b", 4),
    )
    assert find_mentions(text, HERE) == expected


@given(st.text(alphabet="fixes #:7acme/tool`<!->\n", max_size=60))
def test_a_closing_reference_is_also_a_mention(text):
    closing = {r.number for r in find_closing_references(text, HERE)}
    assert closing <= {r.number for r in find_mentions(text.replace("s#", "s #"), HERE)} | closing
    assert len(find_closing_references(text, HERE)) == len(set(find_closing_references(text, HERE)))
