import pytest

from app.events import CommentEvent, Ignored
from tests.builders.github.webhook_payloads import (
    CAT,
    MONA,
    TEN,
    account,
    comment,
    envelope,
    issue,
    read,
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
        occurred_at=TEN,
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
