"""Hidden parts of a comment: the marker that identifies it, and the verdict as JSON (pure)."""

import json

from app.jobs.job import Json
from app.values.identifiers import CommandSource

_INERT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&@#"}


def format_group_marker(group: int) -> str:
    """Return the hidden marker of a verdict comment: an HTML comment. `group` is the group's id in the database.

    Anyone can write the marker, so it proves no authorship.
    """
    return f"<!-- r4p:group={group} -->"


def format_notice_marker(group: int) -> str:
    """Return the HTML comment that marks the notice about several pull requests for one issue."""
    return f"<!-- r4p:notice={group} -->"


def format_reply_marker(answers: CommandSource) -> str:
    """Return the HTML comment that marks the bot's reply to the command in the comment or review `answers`."""
    return f"<!-- r4p:reply={answers} -->"


def format_refusal_marker(asked_in: CommandSource) -> str:
    """Return the HTML comment that marks the later reply to the command in `asked_in`: the bot could judge nothing."""
    return f"<!-- r4p:not-judged={asked_in} -->"


def format_draft_marker(draft: int, asked_in: CommandSource) -> str:
    """Return the HTML comment that marks the bot's reply to `/r4p open` in the comment or review `asked_in`.

    `draft` is the id of the draft pull request in the database.
    """
    return f"<!-- r4p:draft={draft}-{asked_in} -->"


def format_verdict_json(document: Json) -> str:
    """Return the verdict `document` as JSON in an HTML comment.

    Nothing in the JSON can close the comment, mention a person or link to an issue.
    """
    written = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    # Numbers never hold two dashes, so all of these are inside JSON strings, where escapes are legal.
    safe = written.translate(_INERT).replace("--", "\\u002d\\u002d").replace("://", ":\\/\\/")
    return f"<!-- r4p.verdict/1 {safe} -->"
