"""Which issues can be judged by their text alone: the filters of R4P's study of issues (appendix A; pure)."""

import re
from dataclasses import dataclass

from training.curation.pools import Pool
from training.curation.steps import Reason

_IMAGE = re.compile(
    r"!\[[^\]]*\]\(|!\[[^\]]*\]\[|<img\b|<video\b"
    r"|https?://[^\s)>\"']+\.(?:png|jpe?g|gif|svg|webp|bmp|mp4|mov)\b"
    r"|https?://(?:user-images\.githubusercontent\.com|github\.com/user-attachments/assets)/",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"https?://[^\s)>\]]+"
    r"|(?<![\w/])(?:[\w.-]+/[\w.-]+)?(?:#|\bGH-)\d+\b"
    r"|(?<!\w)@[\w-]+(?:\[bot\])?"
    r"|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)
"""Links, other issues, people, commits: what a reader of the text alone does not see."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """What a statement has to be."""

    least: int = 100
    """Characters."""
    most: int = 4_000
    only_ascii: bool = False
    """The paper's setting; it would leave out whoever writes in another language."""
    least_words: int = 10
    """Words besides links, mentions and numbers: what is left when nothing can be looked up."""


def unfit(pool: Pool, limits: StatementLimits) -> Reason:
    """Why an issue is left out."""
    text = pool.statement.strip()
    if len(text) < limits.least:
        return f"shorter than {limits.least:,} characters"
    if len(text) > limits.most:
        return f"longer than {limits.most:,} characters"
    if limits.only_ascii and not text.isascii():
        return "not only ASCII"
    if _IMAGE.search(text):
        return "shows an image"
    if len(_WORD.findall(_ELSEWHERE.sub(" ", text))) < limits.least_words:
        return "says it elsewhere"
    return None
