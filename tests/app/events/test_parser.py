import pytest

from app.events import Ignored
from tests.builders.github.webhook_payloads import SHA, envelope, pull, push, read


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("star", {"action": "created"}, "not handled: star.created"),
        ("ping", {"zen": "Speak like a human."}, "not handled: ping"),
        ("pull_request", {"action": "labeled"}, "not handled: pull_request.labeled"),
        ("a\nb", {}, "not handled: a?b"),
    ],
)
def test_everything_else_is_ignored_by_name(name, payload, reason):
    assert read(name, payload) == Ignored(reason)


MALFORMED = {
    "installation": "installation is missing: it should be an object",
    "installation.id": "installation.id is missing: it should be a number",
    "pull_request": "pull_request is missing: it should be an object",
    "pull_request.title": "pull_request.title is missing: it should be a text",
    "pull_request.head.sha": "pull_request.head.sha is missing: it should be a text",
    "repository.full_name": "repository.full_name is missing: it should be a text",
}


@pytest.mark.parametrize("path", MALFORMED)
def test_a_missing_field_is_named(path):
    payload = envelope(action="opened", pull_request=pull())
    *parents, last = path.split(".")
    part = payload
    for parent in parents:
        part = part[parent]
    del part[last]
    assert read("pull_request", payload) == Ignored(f"unreadable: {MALFORMED[path]}")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("number", "12", "pull_request.number is malformed: it should be a number"),
        ("number", True, "pull_request.number is malformed: it should be a number"),
        ("number", -1, "pull_request.number is malformed: it should be a number"),
        ("number", 2**63, "pull_request.number is malformed: it should be a number"),
        ("title", 5, "pull_request.title is malformed: it should be a text"),
        ("draft", "yes", "pull_request.draft is malformed: it should be true or false"),
        ("user", [], "pull_request.user is malformed: it should be an object"),
        ("merge_commit_sha", "HEAD", "pull_request.merge_commit_sha is not a commit SHA"),
        ("merge_commit_sha", 7, "pull_request.merge_commit_sha is not a commit SHA"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field, value, reason):
    payload = envelope(action="opened", pull_request=pull(**{field: value}))
    assert read("pull_request", payload) == Ignored(f"unreadable: {reason}")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("commits", {}, "commits is malformed: it should be a list"),
        ("commits", [1], "commits[0] is malformed: it should be an object"),
        (
            "commits",
            [{"id": SHA, "message": "", "added": [1]}],
            "commits[0].added[0] is malformed: it should be a text",
        ),
    ],
)
def test_a_malformed_list_is_named_with_the_place(field, value, reason):
    assert read("push", push(**{field: value})) == Ignored(f"unreadable: {reason}")


@pytest.mark.parametrize("name", ["octo", "octo/cat/x", "../..", "octo/..", "octo/c at", "-/x"])
def test_a_repository_name_that_could_leave_its_place_is_refused(name):
    repository = {"id": 70, "full_name": name, "default_branch": "main"}
    event = read(
        "pull_request", envelope(action="opened", pull_request=pull(), repository=repository)
    )
    assert event == Ignored(
        "unreadable: a repository's full_name is malformed: it should be owner/name"
    )
