"""How the pages are written: short paragraphs, short sentences, a subject that can be named."""

import re

import pytest

from tests.architecture.source import DOCUMENTS, ROOT, relative

PAGES = [
    *DOCUMENTS,
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
]


def _prose(text: str) -> list[str]:
    """The paragraphs and list items of a Markdown page, without code, tables, headings and HTML."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    lines = ["" if re.match(r"\s*(\||#|<|!\[)", line) else line for line in text.splitlines()]
    items = re.sub(r"^\s*([-*+]|\d+\.)\s+", "\n\n", "\n".join(lines), flags=re.MULTILINE)
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", items) if block.strip()]


def _sentences(paragraph: str) -> list[str]:
    plain = re.sub(r"`[^`]*`", "code", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))
    return [part for part in re.split(r"(?<=[.!?:;])\s+", plain) if len(part.split()) > 2]


def _page_sentences(page) -> list[str]:
    return [
        sentence
        for text in _prose(page.read_text(encoding="utf-8"))
        for sentence in _sentences(text)
    ]


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_a_page_is_written_in_short_sentences(path):
    paragraphs = _prose(path.read_text(encoding="utf-8"))
    assert [text for text in paragraphs if len(text.split()) > 90] == []
    sentences = _page_sentences(path)
    words = sum(len(sentence.split()) for sentence in sentences)
    assert words / max(1, len(sentences)) <= 20


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_no_sentence_has_a_clause_as_its_subject(path):
    begins = re.compile(r"(Who|Whoever|Whose|What|Of (what|these|those|which))\b")
    statements = (text for text in _page_sentences(path) if not text.endswith("?"))
    assert [text for text in statements if begins.match(text) and text.endswith(".")] == []
