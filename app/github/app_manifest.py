"""The permissions and events of the bot's App, and the manifest by which GitHub registers it (pure).

`deploy/app-manifest.json` is the same manifest for people who register the App by hand.
"""

from collections.abc import Mapping
from typing import Final

from app.github.api_call import Json

PERMISSIONS: Final[Mapping[str, str]] = {
    "checks": "write",
    "contents": "read",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}
OPTIONAL_PERMISSIONS: Final = frozenset({"statuses"})
"""Without them verdicts lack some evidence."""
EVENTS: Final = (
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "push",
)
DESCRIPTION: Final = (
    "Judges rival pull requests for one issue against each other. "
    "Never merges, closes, approves or pushes."
)
WEBHOOK_PATH: Final = "/api/github/webhooks"
UNREACHABLE_WEBHOOK: Final = f"https://r4p-polls.invalid{WEBHOOK_PATH}"
"""Webhook URL of a bot that polls. GitHub records each delivery and cannot send it: no host has a name in `.invalid`
(RFC 2606), so no stranger receives it."""
_LEVELS: Final = {"read": 1, "write": 2, "admin": 3}


def build_manifest(
    name: str, homepage: str, webhook_url: str, redirect_url: str
) -> dict[str, Json]:
    """Build the manifest of an App called `name`; GitHub sends its webhooks to `webhook_url`.

    After the registration GitHub sends the browser to `redirect_url`, with a code that is worth the App's credentials.
    """
    permissions: dict[str, Json] = dict(PERMISSIONS)
    events: list[Json] = list(EVENTS)
    return {
        "name": name,
        "url": homepage,
        "description": DESCRIPTION,
        "public": False,
        "hook_attributes": {"url": webhook_url, "active": True},
        "redirect_url": redirect_url,
        "default_permissions": permissions,
        "default_events": events,
    }


def list_missing_permissions(granted: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions that the bot needs and `granted` lacks, with the needed levels."""
    return {
        name: level
        for name, level in PERMISSIONS.items()
        if _LEVELS.get(granted.get(name, ""), 0) < _LEVELS[level]
    }
