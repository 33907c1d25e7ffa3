"""Long texts lose their middle, and say how much of it."""

from model.prompts.truncation import cut_middle


def test_what_is_short_stays():
    assert cut_middle("abcdef", 2, 4) == "abcdef"


def test_what_is_long_keeps_both_ends():
    assert cut_middle("abcdefg", 2, 3) == "ab\n… 2 characters left out …\nefg"
    assert cut_middle("abcdefg", 2, 3, ends=" ") == "ab … 2 characters left out … efg"
