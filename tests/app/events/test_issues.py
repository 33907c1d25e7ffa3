import pytest

from app.events import IssueAction, IssueEvent
from tests.builders.github.webhook_payloads import CAT, MONA, TEN, envelope, issue, read


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
        occurred_at=TEN,
    )


@pytest.mark.parametrize(
    "written", [None, 7, "yesterday", "2026-03-01T10:00:00", "0001-01-01T00:00:00+14:00"]
)
def test_an_unreadable_time_is_no_reason_to_lose_the_event(written):
    event = read("issues", envelope(action="opened", issue=issue(updated_at=written)))
    assert event.occurred_at is None
