"""Pages hold every line once and in order, under a heading that says whose it is."""

from hypothesis import given
from hypothesis import strategies as st

from model.agents.tools.search_tool import PageSection, split_into_pages

TEXTS = st.lists(
    st.lists(st.text("ab \r", max_size=30), min_size=1, max_size=12).map("\n".join),
    min_size=1,
    max_size=5,
)


@given(TEXTS, st.integers(1, 60))
def test_every_line_is_on_a_page_in_order(texts, size):
    blocks = [PageSection(f"## {number}", text) for number, text in enumerate(texts)]
    lines = [line for page in split_into_pages(blocks, size) for line in page.split("\n")]
    assert [line for line in lines if not line.startswith("##")] == [
        line for text in texts for line in text.replace("\r\n", "\n").split("\n")
    ]


@given(TEXTS, st.integers(1, 60))
def test_page_fits_its_size_or_has_one_line(texts, size):
    for page in split_into_pages([PageSection("##", text) for text in texts], size):
        lines = [line for line in page.split("\n") if not line.startswith("##")]
        assert len(page) <= size or len(lines) == 1


def test_headings_count_towards_the_page_size():
    shown = split_into_pages([PageSection(f"## {number:08}", "x") for number in range(100)], 130)
    assert all(len(page) <= 130 for page in shown)
    assert len(shown) == 12  # nine of each 14 characters


def test_continued_section_repeats_its_heading():
    assert split_into_pages([PageSection("## a", "1\n2"), PageSection("## b", "3\n4")], 17) == (
        "## a\n1\n2\n## b\n3",
        "## b (continued)\n4",
    )


def test_very_long_line_is_cut():
    (page,) = split_into_pages([PageSection("## a", "x" * 3_000)], 9_000)
    assert page == f"## a\n{'x' * 2_000}… (1,000 more characters)"
