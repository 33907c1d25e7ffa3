"""What rows of tokens begin with alike (pure)."""

from collections.abc import Hashable, Sequence


def common(rows: Sequence[Sequence[Hashable]]) -> int:
    """How many leading tokens all rows share; one token is always left to be read per row."""
    limit = min(map(len, rows)) - 1
    return min(limit, *(alike(rows[0], row) for row in rows))


def alike(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """How many tokens two rows begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
