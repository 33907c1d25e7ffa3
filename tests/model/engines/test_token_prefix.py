"""What rows of tokens begin with alike, counted by hand."""

from model.engines.token_prefix import alike, common


def test_what_rows_begin_with_alike_leaves_each_a_token_to_read():
    assert alike("abc", "abx") == 2
    assert alike("ab", "abc") == alike("abc", "ab") == 2
    assert common(["abc", "abd", "abcd"]) == 2
    assert common(["ab", "abc"]) == 1
    assert common(["ab"]) == 1
