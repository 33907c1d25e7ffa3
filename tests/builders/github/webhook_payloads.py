"""Payload builders: GitHub's shape with defaults for all but what a test is about; what they are read as."""

import json
from datetime import UTC, datetime

from app.events import Actor, CheckAction, CheckEvent, ReviewAction, ReviewEvent, parse
from app.values.identifiers import RepositoryRef

SHA = "a" * 40
OTHER_SHA = "b" * 40
CAT = RepositoryRef(7, 70, "octo/cat")
MONA = Actor(1, "mona", is_bot=False)
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def account(login="mona", number=1, kind="User"):
    return {"login": login, "id": number, "type": kind}


def envelope(**fields):
    return {
        "installation": {"id": 7},
        "repository": {"id": 70, "full_name": "octo/cat", "default_branch": "main"},
        "sender": account(),
        **fields,
    }


def pull(**fields):
    return {
        "number": 12,
        "title": "Handle empty input",
        "body": "Fixes #3",
        "user": account(),
        "draft": False,
        "merged": False,
        "merge_commit_sha": None,
        "head": {"sha": SHA, "ref": "fix"},
        "base": {"sha": OTHER_SHA, "ref": "main"},
        "updated_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def issue(**fields):
    return {
        "number": 3,
        "title": "Crash on empty input",
        "body": None,
        "user": account(),
        "state_reason": None,
        "updated_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def comment(**fields):
    return {
        "id": 900,
        "body": "/r4p verify",
        "user": account(),
        "author_association": "MEMBER",
        "created_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def review(**fields):
    return {
        "id": 800,
        "state": "approved",
        "body": None,
        "user": account(),
        "commit_id": SHA,
        "submitted_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def check(**fields):
    return {
        "id": 600,
        "name": "tests",
        "head_sha": SHA,
        "conclusion": "success",
        "app": {"id": 15368, "slug": "github-actions"},
        "pull_requests": [{"number": 12}],
        "external_id": "e",
        "completed_at": "2026-03-01T10:00:00Z",
        **fields,
    }


def encode(payload):
    return json.dumps(payload).encode()


def push(**fields):
    commits = [{"id": SHA, "message": "Fix it", "added": [], "modified": ["a.py"], "removed": []}]
    repository = {"id": 70, "full_name": "octo/cat", "default_branch": "main"}
    standard = {"ref": "refs/heads/main", "before": OTHER_SHA, "after": SHA, "commits": commits}
    return envelope(**{"repository": repository, **standard, **fields})


def installation(**fields):
    return envelope(installation={"id": 7, "account": {"id": 1, "login": "octo"}}, **fields)


def read(name, payload, **kwargs):
    return parse(name, "guid", encode(payload), **kwargs)


def build_check_event(**changes):
    """Build the event of a completed check run."""
    values = {
        "sender": MONA,
        "action": CheckAction.COMPLETED,
        "is_suite": False,
        "id": 600,
        "name": "r4p/verdict",
        "head": SHA,
        "conclusion": None,
        "app_id": 99,
        "app_slug": "r4p",
        "is_ours": True,
        "pulls": (12,),
        "external_id": "",
        "button": None,
        "occurred_at": TEN,
    }
    return CheckEvent(delivery="guid", repository=CAT, **values | changes)


def build_review_event(**changes):
    """Build the event of a review without words."""
    values = {
        "sender": MONA,
        "action": ReviewAction.SUBMITTED,
        "number": 12,
        "review": 800,
        "state": "approved",
        "body": "",
        "author": MONA,
        "commit": SHA,
        "occurred_at": TEN,
    }
    return ReviewEvent(delivery="guid", repository=CAT, **values | changes)
