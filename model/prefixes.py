"""What prompts begin with alike, and how much of them a prefix cache can spare at the best (pure)."""

from collections.abc import Hashable, Sequence


def reusable_share(prompts: Sequence[Sequence[Hashable]], block: int = 1) -> float:
    """The share of all tokens that an earlier prompt of these began with as well, 0…1.

    `block`: caches keep whole blocks of so many tokens (vLLM: 16), and the last token is always computed anew,
    since its log-probabilities are wanted.
    """
    known: set[int] = set()
    reused = 0
    for prompt in prompts:
        path, hit = 0, True
        for end in range(block, len(prompt) + 1, block):
            path = hash((path, tuple(prompt[end - block : end])))
            hit = hit and path in known and end < len(prompt)
            reused += block * hit
            known.add(path)
    total = sum(map(len, prompts))
    return reused / total if total else 0.0


def common(rows: Sequence[Sequence[Hashable]]) -> int:
    """How many leading tokens all rows share; one token is always left to be read per row."""
    limit = min(map(len, rows)) - 1
    return min(limit, *(alike(rows[0], row) for row in rows))


def alike(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """How many tokens two rows begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
