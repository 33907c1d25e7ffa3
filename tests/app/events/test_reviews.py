import pytest

from app.events import Ignored, ReviewAction, ReviewEvent
from tests.builders.github.webhook_payloads import (
    CAT,
    MONA,
    SHA,
    TEN,
    account,
    envelope,
    pull,
    read,
    review,
)


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
        occurred_at=TEN,
    )


def test_reviews_by_bots_are_ignored():
    bot = account("reviewer[bot]", 5, "Bot")
    payload = envelope(action="submitted", pull_request=pull(), review=review(user=bot))
    assert read("pull_request_review", payload) == Ignored("a bot's review")
