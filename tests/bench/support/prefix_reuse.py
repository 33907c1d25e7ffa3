"""How much of prompts that begin alike a prefix cache can spare at the best."""

from collections.abc import Hashable, Sequence


def reusable_share(prompts: Sequence[Sequence[Hashable]], block: int = 1) -> float:
    """The share of all tokens that an earlier prompt of these began with as well, 0…1.

    `block`: caches keep whole blocks of so many tokens (`--block-size` of vLLM), and the last token is always computed anew,
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
