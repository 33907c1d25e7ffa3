"""What rows of tokens begin with alike, counted by hand."""

from model.engines.local_decoding import count_common_prefix, count_equal_prefix


def test_common_prefix_leaves_each_row_a_token():
    assert count_equal_prefix("abc", "abx") == 2
    assert count_equal_prefix("ab", "abc") == count_equal_prefix("abc", "ab") == 2
    assert count_common_prefix(["abc", "abd", "abcd"]) == 2
    assert count_common_prefix(["ab", "abc"]) == 1
    assert count_common_prefix(["ab"]) == 1
