"""Hidden parts of a comment: the marker that identifies it, and the verdict as JSON (pure)."""

import json

from app.jobs.job import Json
from app.values.identifiers import CommandSource

_INERT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&@#"}


def format_group_marker(group: int) -> str:
    """Return the hidden marker of a group's verdict comment. Anyone can write it, so it proves no authorship."""
    return f"<!-- r4p:group={group} -->"


def format_reply_marker(answers: CommandSource) -> str:
    """Return the hidden marker of the bot's reply to a command."""
    return f"<!-- r4p:reply={answers} -->"


def format_refusal_marker(asked_in: CommandSource) -> str:
    """Return the hidden marker of the later reply to a command that the bot could judge nothing."""
    return f"<!-- r4p:not-judged={asked_in} -->"


def format_draft_marker(draft: int, asked_in: CommandSource) -> str:
    """Return the hidden marker of the reply about a draft pull request."""
    return f"<!-- r4p:draft={draft}-{asked_in} -->"


def format_verdict_json(document: Json) -> str:
    """Return a verdict as JSON in an HTML comment. Nothing in it can close the comment, mention or refer."""
    written = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    # Numbers never hold two dashes, so all of these are inside JSON strings, where escapes are legal.
    safe = written.translate(_INERT).replace("--", "\\u002d\\u002d").replace("://", ":\\/\\/")
    return f"<!-- r4p.verdict/1 {safe} -->"
