"""What a prefix cache can spare, counted on small prompts by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.support.prefix_reuse import reusable_share


@pytest.mark.parametrize(
    ("prompts", "block", "share"),
    [
        ([], 1, 0),
        (["abcd"], 1, 0),
        (["abcd", "abxy"], 1, 2 / 8),
        (["abcd", "abcd"], 1, 3 / 8),  # the last token is always computed
        (["abcd", "abcd"], 2, 2 / 8),
        (["abcdef", "abcxef"], 2, 2 / 12),
        (["abc", "xbc"], 1, 0),
        (["abcd", "xy", "abz"], 1, 2 / 9),
    ],
)
def test_reusable_share_matches_hand_computed_values(prompts, block, share):
    assert reusable_share(prompts, block) == pytest.approx(share)


@given(st.lists(st.text("ab", max_size=12), max_size=8), st.integers(1, 4))
def test_reuse_is_the_longest_prefix_shared_with_an_earlier_prompt(prompts, block):
    def count_common(left, right):
        return next(
            (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
            min(len(left), len(right)),
        )

    best = 0
    for at, prompt in enumerate(prompts):
        shared = max((count_common(prompt, right) for right in prompts[:at]), default=0)
        best += min(shared, max(len(prompt) - 1, 0)) // block * block
    total = sum(map(len, prompts))
    assert reusable_share(prompts, block) == pytest.approx(best / total if total else 0)
