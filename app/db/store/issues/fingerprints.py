"""Compute the fingerprint of a group: what an evaluation judges, without blanks and comments (pure)."""

import hashlib
from collections.abc import Iterable

from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluation_alternatives import Alternative


def compute_fingerprint(
    text: tuple[str, str], candidates: Iterable[Candidate], alternatives: Iterable[Alternative]
) -> str:
    """Return a hexadecimal SHA-256 of the issue's `text` (title, body), candidates and alternatives.

    Groups with equal fingerprints share their votes. Neither heads nor blanks nor certain comments change it, so that a
    push without a changed patch draws no fresh vote.
    """
    digest = hashlib.sha256(f"{reduce_text(text[0])}\0{reduce_text(text[1])}".encode())
    for candidate in sorted(candidates, key=lambda c: c.pull):
        digest.update(f"\0{candidate.pull}\0{candidate.version}".encode())
    for alternative in sorted(alternatives, key=lambda a: a.number):
        digest.update(f"\0{alternative.id}\0{alternative.diff}".encode())
    return digest.hexdigest()


def reduce_text(text: str) -> str:
    """Return a prose text with each run of blanks and line breaks as one blank."""
    return " ".join(text.split())
