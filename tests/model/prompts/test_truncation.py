"""Long texts lose their middle, and say how much of it."""

from model.prompts.truncation import without_middle


def test_what_is_short_stays():
    assert without_middle("abcdef", 2, 4) == "abcdef"


def test_what_is_long_keeps_both_ends():
    assert without_middle("abcdefg", 2, 3) == "ab\n… 2 characters left out …\nefg"
    assert without_middle("abcdefg", 2, 3, ends=" ") == "ab … 2 characters left out … efg"
