"""This module shortens long texts (pure)."""


def cut_middle(text: str, head: int, tail: int, *, ends: str = "\n") -> str:
    """Keep the first `head` and the last `tail` characters of a long text, and say how many were cut between them.

    `ends` stands on both sides of that remark; a space keeps a one-line text on one line.
    """
    more = len(text) - head - tail
    if more <= 0:
        return text
    return f"{text[:head]}{ends}… {more:,} characters left out …{ends}{text[-tail:]}"
