"""ARCHITECTURE.md: short, and its tree is the one that lies on disk."""

from tests.architecture.tree import PAGE, insert_tree


def test_the_architecture_fits_on_120_lines():
    assert len(PAGE.read_text().splitlines()) <= 120


def test_the_tree_is_printed_from_the_rooms_docstrings():
    page = PAGE.read_text()
    assert "<!-- tree -->" in page
    assert page == insert_tree(page), "write it anew: python -m tests.architecture.tree"
