import json
from datetime import UTC, datetime

import pytest

from app.db.store.queue.effects import build_check_key
from app.events import Ignored, parse
from app.outcomes import APP, Details, EventKind, observe
from app.policy.commands import Button
from tests.builders.github import webhook_payloads

RECEIVED = datetime(2026, 3, 2, tzinfo=UTC)
SENT = datetime(2026, 3, 1, 10, tzinfo=UTC)
SHA, OTHER = webhook_payloads.SHA, webhook_payloads.OTHER_SHA


def observe_payload(event, **payload):
    parsed = parse(event, "guid", json.dumps(webhook_payloads.envelope(**payload)).encode())
    assert not isinstance(parsed, Ignored), parsed
    return observe(parsed, RECEIVED)


def pull(action, sender=None, **fields):
    return observe_payload(
        "pull_request",
        action=action,
        number=12,
        pull_request=webhook_payloads.pull(**fields),
        sender=sender or webhook_payloads.account(),
    )


def test_a_merge_knows_its_head_base_commit_and_who_merged():
    mia = webhook_payloads.account("mia", 2)
    (event,) = pull("closed", mia, merged=True, merge_commit_sha="c" * 40)
    assert event.kind == EventKind.PULL_MERGED
    assert event.source == "guid:pull_merged"
    assert event.occurred_at == SENT
    assert (event.pull, event.actor, event.actor_id, event.head) == (12, "mia", 2, SHA)
    assert event.details == Details(base=OTHER, commit="c" * 40)


def test_a_closing_without_merge_knows_whether_author_or_bot_did_it():
    (by_author,) = pull("closed", merge_commit_sha="c" * 40)
    assert by_author.kind == EventKind.PULL_CLOSED
    assert by_author.details == Details(by_author=True, base=OTHER)
    (by_bot,) = pull("closed", webhook_payloads.account("stale[bot]", 9, "Bot"))
    assert by_bot.permission == APP
    assert not by_bot.details.by_author
    assert by_author.permission is None


@pytest.mark.parametrize(
    ("action", "kind"),
    [("synchronize", "head_moved"), *((a, f"pull_{a}") for a in ("opened", "reopened", "locked"))],
)
def test_reopening_and_pushing_are_recorded(action, kind):
    assert [event.kind for event in pull(action)] == [kind]


@pytest.mark.parametrize("action", ["edited", "ready_for_review"])
def test_a_pull_request_action_without_a_decision_is_not_recorded(action):
    assert pull(action) == ()


def test_an_event_without_a_time_happened_when_it_arrived():
    (event,) = pull("closed", updated_at=None)
    assert event.occurred_at == RECEIVED


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Reverts octo/cat#7", [(7, None)]),
        ("Reverts Octo/Cat#7\r\n\r\nIt broke.", [(7, None)]),
        ("Reverts #7\nReverts #8", [(7, None), (8, None)]),
        ("Reverts other/repo#7", []),
        ("It Reverts #7 and more", []),
        ("This reverts commit abcdef1234.", [(None, "abcdef1234")]),
        (None, []),
    ],
)
def test_a_merged_revert_names_what_it_takes_back(body, expected):
    merge, *reverts = pull("closed", merged=True, body=body)
    assert [(event.pull, event.details.commit) for event in reverts] == expected
    assert all(event.kind == EventKind.REVERTED for event in reverts)
    assert all(event.details.reverter == "#12" for event in reverts)
    assert len({event.source for event in (merge, *reverts)}) == 1 + len(expected)


def test_a_revert_counts_only_when_merged_into_the_default_branch():
    release = {"ref": "release", "sha": OTHER}
    assert len(pull("closed", merged=True, base=release, body="Reverts #7")) == 1
    assert len(pull("closed", body="Reverts #7")) == 1


def issue(action, **fields):
    return observe_payload("issues", action=action, issue=webhook_payloads.issue(**fields))


def test_an_issue_closed_says_why():
    (event,) = issue("closed", state_reason="not_planned")
    assert (event.kind, event.issue, event.pull) == (EventKind.ISSUE_CLOSED, 3, None)
    assert event.details == Details(by_author=True, state="not_planned")
    assert [event.kind for event in issue("reopened")] == [EventKind.ISSUE_REOPENED]
    assert issue("edited") == ()


def review(action, state, **fields):
    return observe_payload(
        "pull_request_review",
        action=action,
        sender=webhook_payloads.account("mia", 2),
        pull_request={"number": 12},
        review={
            "id": 5,
            "state": state,
            "user": webhook_payloads.account("noor", 3),
            "commit_id": SHA,
            "submitted_at": "2026-03-01T10:00:00Z",
            **fields,
        },
    )


def test_a_review_is_its_authors_and_a_dismissal_is_the_senders():
    (given,) = review("submitted", "APPROVED")
    assert (given.actor, given.occurred_at, given.head) == ("noor", SENT, SHA)
    assert given.details == Details(state="approved", about="5")
    (taken,) = review("dismissed", "dismissed")
    assert (taken.actor, taken.occurred_at, taken.details.about) == ("mia", RECEIVED, "5")


def test_a_review_without_a_time_happened_when_it_arrived():
    (event,) = review("submitted", "commented", submitted_at=None)
    assert event.occurred_at == RECEIVED


def suite(**fields):
    check = {"id": 1, "head_sha": SHA, "app": {"id": 4, "slug": "actions"}, **fields}
    return observe_payload("check_suite", action="completed", check_suite=check)


def test_a_finished_suite_is_ci_on_a_head():
    (event,) = suite(conclusion="failure", updated_at="2026-03-01T10:00:00Z")
    assert (event.kind, event.head, event.pull) == (EventKind.CI_CONCLUDED, SHA, None)
    assert (event.details.state, event.details.about) == ("failure", "actions")
    (nameless,) = suite(conclusion="success", app={"id": 4})
    assert (nameless.details.about, nameless.occurred_at) == ("4", RECEIVED)


def test_ci_is_the_act_of_an_app_whoever_made_it_run():
    (event,) = suite(conclusion="failure")
    assert (event.actor, event.actor_id, event.permission) == ("actions[bot]", None, APP)
    (nameless,) = suite(conclusion="success", app={"id": 4})
    assert (nameless.actor, nameless.actor_id, nameless.permission) == (None, None, APP)


def press(button, external_id, sender=None, app=99):
    payload = webhook_payloads.envelope(
        action="requested_action",
        check_run=webhook_payloads.check(external_id=external_id, app={"id": app, "slug": "r4p"}),
        requested_action={"identifier": button},
        sender=sender or webhook_payloads.account(),
    )
    return observe(webhook_payloads.read("check_run", payload, own_app=99), RECEIVED)


@pytest.mark.parametrize(
    ("button", "kind"),
    [(Button.AGREE, EventKind.AGREED), (Button.DISAGREE, EventKind.DISAGREED)],
)
def test_a_button_on_our_check_is_an_opinion_about_its_pull_request(button, kind):
    (event,) = press(button, build_check_key(17, 12, SHA))
    assert (event.kind, event.pull, event.head, event.actor) == (kind, 12, SHA, "mona")
    assert event.occurred_at == RECEIVED


@pytest.mark.parametrize(
    ("button", "external_id", "sender"),
    [
        (Button.VERIFY, build_check_key(17, 12, SHA), None),
        (Button.AGREE, "somebody else's", None),
        (Button.AGREE, build_check_key(17, 12, SHA), webhook_payloads.account("x[bot]", 9, "Bot")),
    ],
    ids=["another button", "another check", "a bot"],
)
def test_a_press_of_another_button_is_no_opinion(button, external_id, sender):
    assert press(button, external_id, sender) == ()


def test_a_button_of_another_app_that_copies_our_id_is_no_opinion():
    assert press(Button.AGREE, build_check_key(17, 12, SHA), app=98) == ()


def test_a_suite_without_conclusion_and_a_single_run_say_nothing():
    assert suite(conclusion=None) == ()
    run = {"id": 1, "name": "test", "head_sha": SHA, "conclusion": "success", "app": {"id": 4}}
    assert observe_payload("check_run", action="completed", check_run=run) == ()


def push(*messages):
    commits = [{"id": f"{n:040x}", "message": message} for n, message in enumerate(messages)]
    return observe_payload("push", ref="refs/heads/main", before=SHA, after=OTHER, commits=commits)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Fix it (#7)\n\nDetails", [("landed", 7)]),
        ("Fix it\n\nCloses #7", [("landed", 7)]),
        ("Fix it\n\nPull Request resolved: https://github.com/octo/cat/pull/7", [("landed", 7)]),
        ("Fix it\n\nPR-URL: https://github.com/other/repo/pull/7", []),
        ('Revert "Fix it (#7)"\n\nThis reverts commit abcdef1.', [("reverted", "abcdef1")]),
        ('Revert "Fix it (#7)" (#9)\n\nReverts octo/cat#7', [("reverted", 7), ("landed", 9)]),
        ("Speak of #7", []),
    ],
)
def test_commits_on_the_default_branch_tell_what_they_carry_and_revert(message, expected):
    found = push(message)
    assert [(str(e.kind), e.pull or e.details.commit) for e in found] == expected
    assert all(event.occurred_at == RECEIVED for event in found)


def test_a_push_of_many_commits_gives_each_its_own_source():
    found = push("A (#7)", "B (#7)", "Reverts #7")
    assert len({event.source for event in found}) == 3
    assert found[-1].details.reverter == f"{2:040x}"


def test_a_commit_message_names_twenty_reverts_at_most():
    assert len(push("\n".join(f"Reverts #{n}" for n in range(80)))) == 20


@pytest.mark.parametrize(
    ("body", "on", "expected"),
    [
        ("/r4p agree", {}, [("agreed", 3, None, None)]),
        ("/r4p agree #12", {}, [("agreed", 3, 12, None)]),
        ("/r4p agree", {"pull_request": {"url": "u"}}, [("agreed", None, 3, None)]),
        ("@r4p-bot disagree #12 it breaks", {}, [("disagreed", 3, 12, "it breaks")]),
        ("> /r4p agree", {}, []),
        ("/r4p verify\n\n/r4p nonsense", {}, []),
    ],
)
def test_opinions_are_of_the_issues_verdict_or_of_one_pull_request(body, on, expected):
    found = observe_comment(body, on)
    assert [(str(e.kind), e.issue, e.pull, e.details.state) for e in found] == expected
    assert all(event.permission is None for event in found)


def test_an_opinion_about_ours_says_nothing_of_a_pull_request():
    found = observe_comment("/r4p agree A1\n\n/r4p disagree A2 it drops None", {})
    assert [(str(e.kind), e.pull, e.details) for e in found] == [
        ("alternative_agreed", None, Details(about="A1")),
        ("alternative_disagreed", None, Details(state="it drops None", about="A2")),
    ]
    assert [event.source for event in found] == [
        "guid:alternative_agreed:0:A1",
        "guid:alternative_disagreed:1:A2",
    ]


def observe_comment(body, on):
    payload = webhook_payloads.envelope(
        action="created", issue={"number": 3, **on}, comment=webhook_payloads.comment(body=body)
    )
    return observe(
        parse("issue_comment", "guid", webhook_payloads.encode(payload)), RECEIVED, "r4p-bot"
    )


@pytest.mark.parametrize(
    ("action", "sender", "kinds"),
    [
        ("submitted", webhook_payloads.account(), ["review_submitted", "agreed"]),
        ("submitted", webhook_payloads.account("helper[bot]", 9, "Bot"), ["review_submitted"]),
        ("dismissed", webhook_payloads.account(), ["review_dismissed"]),
    ],
)
def test_a_submitted_review_holds_opinions_too(action, sender, kinds):
    review = webhook_payloads.review(body="Well done.\n\n/r4p agree")
    fields = {"pull_request": webhook_payloads.pull(), "review": review, "sender": sender}
    found = observe_payload("pull_request_review", action=action, **fields)
    assert [str(event.kind) for event in found] == kinds
    assert {event.pull for event in found} == {12}


def test_two_opinions_in_one_comment_are_two_events():
    found = observe_comment("/r4p agree #12\n\n/r4p disagree #13 wrong", {})
    assert len({event.source for event in found}) == 2


def test_an_installation_is_no_outcome():
    installation = {"id": 7, "account": webhook_payloads.account()}
    assert observe_payload("installation", action="created", installation=installation) == ()
