import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.events import (
    GHOST,
    Actor,
    BaseChange,
    CheckAction,
    CheckEvent,
    CommentEvent,
    Ignored,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushedCommit,
    PushEvent,
    Repository,
    ReviewAction,
    ReviewEvent,
    parse,
)
from app.identifiers import RepositoryRef
from tests.app.events.payloads import (
    OTHER_SHA,
    SHA,
    account,
    check,
    comment,
    encode,
    envelope,
    issue,
    pull,
    review,
)

CAT = RepositoryRef(7, 70, "octo/cat")
MONA = Actor(1, "mona", is_bot=False)
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def read(name, payload, **kwargs):
    return parse(name, "guid", encode(payload), **kwargs)


def test_an_opened_pull_request_is_read_whole():
    event = read("pull_request", envelope(action="opened", pull_request=pull()))
    assert event == PullRequestEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=PullAction.OPENED,
        number=12,
        title="Handle empty input",
        body="Fixes #3",
        author=MONA,
        draft=False,
        merged=False,
        merge_commit=None,
        head=SHA,
        base=OTHER_SHA,
        base_ref="main",
        default_branch="main",
        before=None,
        base_before=None,
        at=TEN,
    )
    assert event.installation == 7


@pytest.mark.parametrize("action", list(PullAction))
def test_every_pull_request_action_we_act_on_is_kept(action):
    event = read("pull_request", envelope(action=action, pull_request=pull()))
    assert event.action is action


def test_a_push_to_a_pull_request_tells_the_head_before_it():
    payload = envelope(action="synchronize", pull_request=pull(), before=OTHER_SHA, after=SHA)
    assert read("pull_request", payload).before == OTHER_SHA


def test_a_changed_base_is_told_with_where_it_was():
    changes = {"base": {"ref": {"from": "dev"}, "sha": {"from": SHA}}}
    payload = envelope(action="edited", pull_request=pull(), changes=changes)
    assert read("pull_request", payload).base_before == BaseChange("dev", SHA)


def test_a_changed_base_may_lack_its_commit():
    payload = envelope(
        action="edited", pull_request=pull(), changes={"base": {"ref": {"from": "dev"}}}
    )
    assert read("pull_request", payload).base_before == BaseChange("dev", None)


def test_a_changed_title_is_no_changed_base():
    payload = envelope(action="edited", pull_request=pull(), changes={"title": {"from": "x"}})
    assert read("pull_request", payload).base_before is None


def test_pull_requests_by_bots_are_kept():
    bot = account("renovate[bot]", 9, "Bot")
    payload = envelope(action="opened", pull_request=pull(user=bot), sender=bot)
    assert read("pull_request", payload).author == Actor(9, "renovate[bot]", is_bot=True)


def test_a_deleted_account_reads_as_githubs_ghost():
    event = read("pull_request", envelope(action="opened", pull_request=pull(user=None)))
    assert event.author == GHOST


@pytest.mark.parametrize("action", list(IssueAction))
def test_an_issue_event_is_read_whole(action):
    event = read("issues", envelope(action=action, issue=issue(state_reason="completed")))
    assert event == IssueEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=action,
        number=3,
        title="Crash on empty input",
        body="",
        author=MONA,
        state_reason="completed",
        at=TEN,
    )


@pytest.mark.parametrize(
    ("extra", "on_pull_request"), [({}, False), ({"pull_request": {"url": "x"}}, True)]
)
def test_a_new_comment_is_read_whole(extra, on_pull_request):
    payload = envelope(action="created", issue=issue(**extra), comment=comment())
    assert read("issue_comment", payload) == CommentEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        number=3,
        on_pull_request=on_pull_request,
        comment=900,
        body="/r4p verify",
        author=MONA,
        association="MEMBER",
        at=TEN,
    )


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_changed_comments_do_not_command(action):
    payload = envelope(action=action, issue=issue(), comment=comment())
    assert read("issue_comment", payload) == Ignored("only newly created comments command")


@pytest.mark.parametrize(
    "bot", [account("r4p[bot]", 5, "Bot"), account("odd[bot]", 6), account("x", 7, "Bot")]
)
def test_comments_by_bots_are_ignored_whoever_sends_them(bot):
    by_bot = envelope(action="created", issue=issue(), comment=comment(user=bot))
    sent_by_bot = envelope(action="created", issue=issue(), comment=comment(), sender=bot)
    assert read("issue_comment", by_bot) == Ignored("a bot's comment")
    assert read("issue_comment", sent_by_bot) == Ignored("a bot's comment")


@pytest.mark.parametrize("action", list(ReviewAction))
def test_a_review_is_read_whole(action):
    payload = envelope(action=action, pull_request=pull(), review=review(state="APPROVED"))
    assert read("pull_request_review", payload) == ReviewEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=action,
        number=12,
        review=800,
        state="approved",
        body="",
        author=MONA,
        commit=SHA,
        at=TEN,
    )


def test_reviews_by_bots_are_ignored():
    bot = account("reviewer[bot]", 5, "Bot")
    payload = envelope(action="submitted", pull_request=pull(), review=review(user=bot))
    assert read("pull_request_review", payload) == Ignored("a bot's review")


def test_a_finished_check_run_is_read_whole():
    payload = envelope(action="completed", check_run=check())
    assert read("check_run", payload) == CheckEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=CheckAction.COMPLETED,
        is_suite=False,
        id=600,
        name="tests",
        head=SHA,
        conclusion="success",
        app_id=15368,
        app_slug="github-actions",
        pulls=(12,),
        external_id="e",
        button=None,
        at=TEN,
    )


def test_a_check_suite_has_neither_name_nor_external_id():
    suite = check(name=None, external_id=None, completed_at=None, updated_at="2026-03-01T10:00:00Z")
    event = read("check_suite", envelope(action="completed", check_suite=suite))
    assert (event.is_suite, event.name, event.external_id, event.at) == (True, "", "", TEN)


def test_a_pressed_button_says_which():
    payload = envelope(
        action="requested_action", check_run=check(), requested_action={"identifier": "reverify"}
    )
    assert read("check_run", payload).button == "reverify"


def test_our_own_finished_checks_are_ignored_but_their_buttons_are_not():
    ours = check(app={"id": 99, "slug": "r4p"})
    done = envelope(action="completed", check_run=ours)
    again = envelope(action="rerequested", check_run=ours)
    assert read("check_run", done, own_app=99) == Ignored("our own check")
    assert read("check_run", again, own_app=99).action is CheckAction.REREQUESTED


def push(**fields):
    commits = [{"id": SHA, "message": "Fix it", "added": [], "modified": ["a.py"], "removed": []}]
    repository = {"id": 70, "full_name": "octo/cat", "default_branch": "main"}
    standard = {"ref": "refs/heads/main", "before": OTHER_SHA, "after": SHA, "commits": commits}
    return envelope(**{"repository": repository, **standard, **fields})


def test_a_push_to_the_default_branch_is_read_whole():
    assert read("push", push()) == PushEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        before=OTHER_SHA,
        after=SHA,
        forced=False,
        commits=(PushedCommit(SHA, "Fix it"),),
        config_touched=False,
    )


@pytest.mark.parametrize("kind", ["added", "modified", "removed"])
def test_a_push_that_touches_the_configuration_says_so(kind):
    event = read("push", push(commits=[{"id": SHA, "message": "", kind: ["x", ".github/r4p.yml"]}]))
    assert event.config_touched


@pytest.mark.parametrize(
    "fields",
    [
        {"forced": True},
        {"created": True},
        {"commits": [{"id": SHA, "message": ""}] * 2048},
    ],
    ids=["forced", "created", "cut"],
)
def test_a_push_that_does_not_list_all_may_have_touched_the_configuration(fields):
    assert read("push", push(**fields)).config_touched


def test_a_long_commit_message_is_cut():
    event = read("push", push(commits=[{"id": SHA, "message": "m" * 5000}]))
    assert len(event.commits[0].message) == 1000


def test_pushes_elsewhere_and_deletions_are_ignored():
    assert read("push", push(ref="refs/heads/fix")) == Ignored("a push beside the default branch")
    assert read("push", push(deleted=True)) == Ignored("the default branch was deleted")


def installation(**fields):
    return envelope(installation={"id": 7, "account": {"login": "octo"}}, **fields)


@pytest.mark.parametrize("action", list(InstallationAction))
def test_an_installation_lists_its_repositories(action):
    payload = installation(action=action, repositories=[{"id": 70, "full_name": "octo/cat"}])
    assert read("installation", payload) == InstallationEvent(
        delivery="guid",
        installation=7,
        account="octo",
        sender=MONA,
        action=action,
        repositories=(Repository(70, "octo/cat"),),
    )


def test_an_installation_may_list_nothing():
    assert read("installation", installation(action="suspend")).repositories == ()


def test_repositories_taken_out_of_an_installation_are_listed():
    payload = installation(
        action="removed",
        repositories_added=[],
        repositories_removed=[{"id": 70, "full_name": "octo/cat"}],
    )
    assert read("installation_repositories", payload) == InstallationRepositoriesEvent(
        delivery="guid",
        installation=7,
        account="octo",
        sender=MONA,
        added=(),
        removed=(Repository(70, "octo/cat"),),
    )


def test_an_enterprise_account_is_named_by_its_slug():
    payload = envelope(
        action="created", installation={"id": 7, "account": {"slug": "octo-enterprise"}}
    )
    assert read("installation", payload).account == "octo-enterprise"


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


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe{}",
        '{"action": "opened"}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"number": ' + b"9" * 5_000 + b"}",
        b"{" + b" " * 25_000_000,
        b"[]",
        b"null",
    ],
    ids=[
        "empty",
        "not-utf8",
        "utf-16",
        "byte-order-mark",
        "deep-lists",
        "deep-objects",
        "5000-digits",
        "25-MB-of-whitespace",
        "list",
        "null",
    ],
)
def test_hostile_bytes_are_unreadable_and_nothing_worse(body):
    event = parse("pull_request", "guid", body)
    assert isinstance(event, Ignored)
    assert event.reason.startswith("unreadable: ")


def test_text_is_cleaned_of_what_a_database_refuses():
    hostile = envelope(
        action="opened", pull_request=pull(title="a\0b\ud800c", body="\U0001f600" * 70_000)
    )
    event = read("pull_request", hostile)
    assert event.title == "abc"
    assert event.body == "\U0001f600" * 65_536


def test_the_last_of_two_equal_keys_counts():
    body = encode(envelope(action="opened", pull_request=pull()))
    doubled = body.replace(b'"title": "Handle', b'"title": "x", "title": "Handle')
    assert parse("pull_request", "guid", doubled).title == "Handle empty input"


@pytest.mark.parametrize(
    "written", [None, 7, "yesterday", "2026-03-01T10:00:00", "0001-01-01T00:00:00+14:00"]
)
def test_an_unreadable_time_is_no_reason_to_lose_the_event(written):
    event = read("issues", envelope(action="opened", issue=issue(updated_at=written)))
    assert event.at is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
SOUND = {
    "pull_request": envelope(action="edited", pull_request=pull(), changes={}),
    "issues": envelope(action="opened", issue=issue()),
    "issue_comment": envelope(action="created", issue=issue(), comment=comment()),
    "pull_request_review": envelope(action="submitted", pull_request=pull(), review=review()),
    "check_run": envelope(action="completed", check_run=check()),
    "push": push(),
    "installation": installation(action="created", repositories=[]),
}


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(sorted(SOUND)), data=st.data())
def test_one_spoilt_field_never_raises_and_never_reaches_the_database_dirty(name, data):
    payload = json.loads(json.dumps(SOUND[name]))
    part = payload
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        if isinstance(part[key], dict) and part[key] and data.draw(st.booleans()):
            part = part[key]
            continue
        part[key] = data.draw(json_values)
        break
    event = read(name, payload)
    text = (
        repr(event)
        if isinstance(event, Ignored)
        else event.repository.full_name
        if hasattr(event, "repository")
        else event.account
    )
    text.encode("utf-8")
    assert "\0" not in text


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_any_bytes_give_an_answer(body):
    assert isinstance(parse("push", "guid", body), Ignored)
