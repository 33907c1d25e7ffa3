"""Build the webhook deliveries that GitHub would have sent for comments and reviews (pure)."""

import json
from collections.abc import Mapping
from datetime import datetime

from app.db.store.queue.deliveries import Delivery
from app.github.api.rest_reader import PersonComment
from app.github.facts import PersonReview
from app.values.identifiers import DeliveryGuid, RepositoryRef


def rebuild_comment(repository: RepositoryRef, comment: PersonComment) -> Delivery:
    """Return the webhook delivery that GitHub would have sent for a comment, with the fields that the bot reads.

    Its GUID is `comment-` and the comment's id, so that it is stored once.
    """
    user = _build_user(comment.author_id, comment.author)
    body = {
        "action": "created",
        "sender": user,
        "issue": {"number": comment.thread, **({"pull_request": {}} if comment.is_pull else {})},
        "comment": {
            "id": comment.id,
            "body": comment.body,
            "user": user,
            "author_association": comment.association,
            "created_at": _format_time(comment.created_at),
        },
    }
    return _build_delivery(repository, f"comment-{comment.id}", "issue_comment", body)


def rebuild_review(repository: RepositoryRef, review: PersonReview) -> Delivery:
    """Return the webhook delivery that GitHub would have sent for a review, with the fields that the bot reads.

    Its GUID is `review-` and the review's id, so that it is stored once.
    """
    user = _build_user(review.author_id, review.author)
    body = {
        "action": "submitted",
        "sender": user,
        "pull_request": {"number": review.pull},
        "review": {
            "id": review.id,
            "body": review.body,
            "state": review.state,
            "user": user,
            "commit_id": review.head,
            "submitted_at": _format_time(review.submitted_at),
        },
    }
    return _build_delivery(repository, f"review-{review.id}", "pull_request_review", body)


def _build_user(number: int, login: str) -> dict[str, object]:
    return {"id": number, "login": login, "type": "User"}


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _build_delivery(
    repository: RepositoryRef, guid: str, event: str, body: Mapping[str, object]
) -> Delivery:
    place = {
        "installation": {"id": repository.installation},
        "repository": {"id": repository.id, "full_name": repository.full_name},
    }
    content = json.dumps({**body, **place}).encode()
    return Delivery(DeliveryGuid(guid), event, repository.installation, repository.id, content)
