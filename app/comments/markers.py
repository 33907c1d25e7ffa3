"""What a comment carries unseen: the mark by which it is found again, and the verdict as JSON (pure)."""

import json

from app.jobs.job import Json
from app.values.identifiers import AskedIn

_INERT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&@#"}


def group_marker(group: int) -> str:
    """Stands in the one comment about a group. Anyone can write it, so it proves no authorship."""
    return f"<!-- r4p:group={group} -->"


def reply_marker(answers: AskedIn) -> str:
    """Stands in our answer to a command."""
    return f"<!-- r4p:reply={answers} -->"


def refusal_marker(asked_in: AskedIn) -> str:
    """Stands in our word that nothing could be judged; it comes later than the answer, beside it."""
    return f"<!-- r4p:not-judged={asked_in} -->"


def draft_marker(draft: int, asked_in: AskedIn) -> str:
    """Stands in our word on what came of a draft pull request."""
    return f"<!-- r4p:draft={draft}-{asked_in} -->"


def verdict_json(document: Json) -> str:
    """The document in an HTML comment that nothing in it can close, mention from or refer from."""
    written = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    # Numbers never hold two dashes, so all of these stand inside JSON strings, where escapes may.
    safe = written.translate(_INERT).replace("--", "\\u002d\\u002d").replace("://", ":\\/\\/")
    return f"<!-- r4p.verdict/1 {safe} -->"
