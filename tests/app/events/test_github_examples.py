"""The events of GitHub's own example payloads, by the schemas that GitHub publishes."""

import json

import pytest

from app.events import Ignored, parse
from tests.github.contract import Contract

CONTRACT = Contract.load()
CASES = [
    (event, action)
    for event, examples in CONTRACT.examples["webhooks"].items()
    for action in examples
]
KEPT = {
    "pull_request": {
        "locked",
        "opened",
        "edited",
        "synchronize",
        "ready_for_review",
        "reopened",
        "closed",
        "converted_to_draft",
    },
    "issues": {"opened", "edited", "closed", "reopened", "deleted", "transferred"},
    "issue_comment": {"created"},
    "pull_request_review": {"submitted", "dismissed"},
    "check_suite": {"completed", "rerequested"},
    "check_run": {"completed", "rerequested", "requested_action"},
    "push": {""},
    "installation": {"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"},
    "installation_repositories": {"added", "removed"},
}
ELSEWHERE = "a push beside the default branch"


def example(event, action):
    return json.dumps(CONTRACT.webhook_example(event, action)).encode()


@pytest.mark.parametrize(("event", "action"), CASES, ids=".".join)
def test_an_example_of_github_is_parsed_or_ignored_for_a_stated_reason(event, action):
    parsed = parse(event, "guid", example(event, action))
    if action not in KEPT.get(event, set()):
        changed_comment = event == "issue_comment" and action in {"edited", "deleted"}
        dotted = ".".join(filter(None, [event, action]))
        reason = (
            "only newly created comments command" if changed_comment else f"not handled: {dotted}"
        )
        assert parsed == Ignored(reason)
    elif isinstance(parsed, Ignored):
        assert (event, parsed.reason) == ("push", ELSEWHERE)
    else:
        assert parsed.installation == CONTRACT.webhook_example(event, action)["installation"]["id"]


def test_githubs_examples_cover_every_event_we_keep():
    missing = {(event, action) for event, actions in KEPT.items() for action in actions}
    assert missing - set(CASES) == set()


def test_a_push_to_the_default_branch_is_kept():
    payload = CONTRACT.webhook_example("push", None)
    payload["ref"] = f"refs/heads/{payload['repository']['default_branch']}"
    payload["deleted"] = False
    assert parse("push", "guid", json.dumps(payload).encode()).after == payload["after"]
