"""Drop issues whose text alone cannot be judged, with the filters of R4P (appendix A; pure)."""

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
"""Links, issue references, mentions and commits, which a reader of the text cannot open."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Limits on the text of an issue."""

    min_characters: int = 100
    """Minimum length."""
    max_characters: int = 4_000
    only_ascii: bool = False
    """The paper's setting. It drops most issues that are not in English."""
    min_words: int = 10
    """Minimum words besides links, mentions and numbers."""


def find_rejection(pool: Pool, limits: StatementLimits) -> Reason:
    """Why an issue is left out."""
    text = pool.statement.strip()
    if len(text) < limits.min_characters:
        return f"shorter than {limits.min_characters:,} characters"
    if len(text) > limits.max_characters:
        return f"longer than {limits.max_characters:,} characters"
    if limits.only_ascii and not text.isascii():
        return "not only ASCII"
    if _IMAGE.search(text):
        return "shows an image"
    if len(_WORD.findall(_ELSEWHERE.sub(" ", text))) < limits.min_words:
        return "says it elsewhere"
    return None
