"""Every sentence the bot says on GitHub, made from frozen views (pure)."""

from app.comments.checks import BUTTONS, ButtonText, CheckText, check_run
from app.comments.hidden import group_marker, refusal_marker, reply_marker, verdict_json
from app.comments.notices import CONFIG_CHECK_NAME, config_check, config_note
from app.comments.replies import (
    explain_reply,
    failed_reply,
    forbidden_reply,
    group_reply,
    help_reply,
    no_verdict_reply,
    status_reply,
    together,
    understood_reply,
    unknown_reply,
    waiting_reply,
)
from app.comments.verdict import LONGEST_BODY, headline, verdict_comment
from app.comments.views import Finding, GroupView, Row, Stage, StatusView, VerdictView
from app.comments.words import CHECK_NAME

__all__ = [
    "BUTTONS",
    "CHECK_NAME",
    "CONFIG_CHECK_NAME",
    "LONGEST_BODY",
    "ButtonText",
    "CheckText",
    "Finding",
    "GroupView",
    "Row",
    "Stage",
    "StatusView",
    "VerdictView",
    "check_run",
    "config_check",
    "config_note",
    "explain_reply",
    "failed_reply",
    "forbidden_reply",
    "group_marker",
    "group_reply",
    "headline",
    "help_reply",
    "no_verdict_reply",
    "refusal_marker",
    "reply_marker",
    "status_reply",
    "together",
    "understood_reply",
    "unknown_reply",
    "verdict_comment",
    "verdict_json",
    "waiting_reply",
]
