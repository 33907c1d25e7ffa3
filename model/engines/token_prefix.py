"""What rows of tokens begin with alike (pure)."""

from collections.abc import Hashable, Sequence


def count_common_prefix(rows: Sequence[Sequence[Hashable]]) -> int:
    """Count the leading tokens that all rows share. At least one token stays per row, since its logits are needed."""
    limit = min(map(len, rows)) - 1
    return min(limit, *(count_equal_prefix(rows[0], row) for row in rows))


def count_equal_prefix(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Count the leading tokens that two rows share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(left), len(right)))
