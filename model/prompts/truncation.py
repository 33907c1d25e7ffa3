"""Texts that are longer than anyone should read (pure)."""


def without_middle(text: str, head: int, tail: int, *, ends: str = "\n") -> str:
    """The first `head` and the last `tail` characters, how many are missing between them; a shorter text as it is.

    `ends` stands on both sides of that: a text of one line stays one with a space.
    """
    more = len(text) - head - tail
    if more <= 0:
        return text
    return f"{text[:head]}{ends}… {more:,} characters left out …{ends}{text[-tail:]}"
