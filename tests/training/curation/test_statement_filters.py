import pytest

from tests.builders.patch_pools import TEXT, pool
from training.curation.statement_filters import StatementLimits, find_rejection


def reason(text, **limits):
    return find_rejection(pool(statement=text), StatementLimits(**limits))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT, None),
        (TEXT[:99], "shorter than 100 characters"),
        ("  " + TEXT[:99] + "  ", "shorter than 100 characters"),
        ("words " * 17, None),
        (("word " * 800)[:-1] + "s", None),
        ("word " * 800 + "ss", "longer than 4,000 characters"),
        (TEXT + " ![what I see](a)", "shows an image"),
        (TEXT + " ![what I see][1]", "shows an image"),
        (TEXT + ' <IMG src="a">', "shows an image"),
        (TEXT + " https://example.org/a/b.PNG", "shows an image"),
        (TEXT + " https://github.com/user-attachments/assets/1-2", "shows an image"),
        (TEXT + " see https://example.org/a.html", None),
        (TEXT + " `if not image[0]:`", None),
        (
            f"See #12, o/r#13, GH-14, https://example.org/{'a' * 60}/b by @some-body[bot], {'0123456789' * 4}.",
            "says it elsewhere",
        ),
    ],
)
def test_only_what_can_be_understood_by_its_text_is_kept(text, said):
    assert reason(text) == said


def test_other_letters_are_left_out_where_that_is_asked_for():
    text = TEXT + " Größe"
    assert reason(text) is None
    assert reason(text, only_ascii=True) == "not only ASCII"
    assert reason(TEXT, only_ascii=True) is None
